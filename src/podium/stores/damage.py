"""Stored data that is not what was written: found when it is read, and reported as `StoreError`."""

from __future__ import annotations

import hashlib
from typing import Any

from podium.engine.codec import decode
from podium.engine.log import DAMAGED, UNREADABLE
from podium.errors import StoreError

_LAST_US = 253_402_300_799_000_000
"""The end of the year 9999 in microseconds: the last moment that Python has a date for."""


def intact(data: bytes, digest: str) -> bytes:
    """Return a blob; raise if its content does not have the digest by which it is named."""
    if hashlib.sha256(data).hexdigest() != digest.lower():
        raise StoreError(f"The blob {digest} is damaged.", hint=DAMAGED)
    return data


def message_data(message_id: int, data: bytes) -> Any:
    """Return the data of a message in an inbox."""
    try:
        return decode(data)
    except UNREADABLE as error:
        raise StoreError(f"Message {message_id} in the inbox cannot be read.", hint=DAMAGED) from error


def fact_data(fact_id: str, text: Any) -> Any:
    """Return one side of a change of a fact."""
    try:
        return decode(text.encode() if isinstance(text, str) else text)
    except UNREADABLE as error:
        raise StoreError(f"The history of the fact {fact_id} cannot be read.", hint=DAMAGED) from error


def time_of(micros: Any) -> int:
    """Return a moment that can be shown; 0 if the stored one cannot."""
    return micros if isinstance(micros, int) and 0 <= micros <= _LAST_US else 0
