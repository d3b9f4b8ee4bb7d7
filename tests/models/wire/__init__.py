"""A provider on loopback: real sockets, the wire formats of the large providers, and every misbehaviour."""
