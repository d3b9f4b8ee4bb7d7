"""Request and response models, one file per subject. These classes define the OpenAPI schema."""

from __future__ import annotations
