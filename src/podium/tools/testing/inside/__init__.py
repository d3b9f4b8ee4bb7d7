"""Programs that run in the sandbox with the project's Python, 3.9 or newer; standard library only."""
