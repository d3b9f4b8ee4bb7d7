"""Document readers: Markdown, text, HTML and PDF as clean text with title, date and authors."""

from __future__ import annotations
