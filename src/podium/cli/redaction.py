"""Redaction of what this process prints: error messages, tracebacks and log records."""

from __future__ import annotations

import logging
import traceback
from functools import cache
from typing import Any

from podium.engine.redact import Redact, redact_text, redactor
from podium.errors import PodiumError
from podium.settings import Settings


@cache
def _redactor() -> Redact:
    """Return the redactor of this process. Wrong settings are reported elsewhere; variables count anyway."""
    try:
        settings = Settings.load()
    except PodiumError:
        settings = Settings()
    return redactor(settings.secrets())


def clean(text: str) -> str:
    """Return the text without secrets."""
    return redact_text(text, _redactor())


def clean_traceback(error: BaseException) -> str:
    return clean("".join(traceback.format_exception(error)))


class CleanRecord(logging.LogRecord):
    """A log record without secrets, whichever handler prints it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        try:
            message = self.getMessage()
        except (TypeError, ValueError, KeyError):
            return  # wrong arguments: the handler reports them
        if (shown := clean(message)) != message:
            self.msg, self.args = shown, None
        if self.exc_info and self.exc_info[1] is not None:
            self.exc_text = clean("".join(traceback.format_exception(*self.exc_info))).rstrip("\n")


def redact_logs() -> None:
    """Redact all records of Python's logging from now on."""
    logging.setLogRecordFactory(CleanRecord)
