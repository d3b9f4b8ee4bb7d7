"""`research`: a state machine plans, runs workers, evaluates, plans again, and writes a cited article."""

from __future__ import annotations
