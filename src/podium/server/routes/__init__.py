"""Every route, one file a subject."""
