"""Running a project's tests and reading what they say; looking at what a change does to them."""
