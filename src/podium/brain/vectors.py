"""Comparing vectors: with NumPy where it is installed anyway, in plain Python otherwise.

Plain Python is slow over long vectors, so it looks at their beginnings first and compares only the most
promising ones in full. Models that order their numbers by weight (OpenAI's do) lose nothing by that.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from operator import mul
from typing import Any

LEAST = 0.2
"""Cosine similarity below which two texts have nothing to do with each other."""
_SHORT = 192
"""Numbers of a vector that plain Python looks at first."""
_PROMISING = 2
"""So many times the wanted number is compared in full."""


def pack(vector: Sequence[float]) -> bytes:
    """A vector of length 1 as 32-bit floats, least significant byte first."""
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    packed = array("f", (number / length for number in vector))
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack(data: bytes) -> list[float]:
    found = array("f", data)
    if sys.byteorder == "big":
        found.byteswap()
    return found.tolist()


class Vectors:
    """The embeddings of a project's facts, ready to be compared."""

    def __init__(self, packed: Mapping[str, bytes]) -> None:
        sizes = [len(data) for data in packed.values()]
        size = max(set(sizes), key=sizes.count) if sizes else 0
        self._ids = [fact for fact, data in packed.items() if len(data) == size]
        self._numpy: Any = import_module("numpy") if find_spec("numpy") else None
        self._rows: Any
        if self._numpy is not None:
            joined = b"".join(packed[fact] for fact in self._ids)
            self._rows = self._numpy.frombuffer(joined, dtype="<f4").reshape(len(self._ids), -1)
        else:
            self._rows = [packed[fact] for fact in self._ids]
            self._short = [unpack(row[: _SHORT * 4]) for row in self._rows]
        self._width = size // 4

    def nearest(self, query: bytes, limit: int, among: Collection[str] | None = None) -> list[str]:
        """The ids of the facts that mean most nearly the same, the nearest first."""
        if not self._ids or len(query) != self._width * 4:
            return []
        scored = self._exact(query) if self._numpy is not None else self._plain(unpack(query), limit)
        close = [
            (score, fact) for score, fact in scored if score >= LEAST and (among is None or fact in among)
        ]
        return [fact for _, fact in sorted(close, key=lambda pair: -pair[0])[:limit]]

    def _exact(self, query: bytes) -> list[tuple[float, str]]:
        scores = self._rows @ self._numpy.frombuffer(query, dtype="<f4")
        return list(zip(scores.tolist(), self._ids, strict=True))

    def _plain(self, query: list[float], limit: int) -> list[tuple[float, str]]:
        """`map` ends with the shorter one, so the beginnings are compared with the beginning."""
        guesses = [sum(map(mul, query, row)) for row in self._short]
        if self._width <= _SHORT:
            return list(zip(guesses, self._ids, strict=True))
        places = sorted(range(len(guesses)), key=lambda place: -guesses[place])[: limit * _PROMISING]
        return [(sum(map(mul, query, unpack(self._rows[place]))), self._ids[place]) for place in places]
