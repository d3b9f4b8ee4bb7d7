"""Who is asked, and how: agents, their prompts, and `ask`."""

from __future__ import annotations
