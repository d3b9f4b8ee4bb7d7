"""The server, as clients meet it: real sockets, real stores, real processes."""
