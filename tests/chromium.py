"""The path of Chromium, if it is installed."""

from __future__ import annotations

import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Debian's headless shell is the same engine without windows, at less than half the processor time."""

CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
