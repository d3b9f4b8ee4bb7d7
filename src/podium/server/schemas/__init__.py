"""What goes over the wire, one file a subject. These classes are the OpenAPI description."""

from __future__ import annotations
