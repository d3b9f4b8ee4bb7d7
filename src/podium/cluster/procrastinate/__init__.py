"""Engine on Procrastinate, which needs only PostgreSQL. Installed with the extra `cluster`."""

from __future__ import annotations
