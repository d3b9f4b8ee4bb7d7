"""A master routes a request to departments; heads brief, grade, retry and merge their specialists."""
