"""Traces, seen by a collector on loopback."""
