"""Comparing vectors in plain Python, quickly enough for thousands of facts.

A whole vector of 1,536 numbers is 6 KB to read and a tenth of a millisecond to compare. So each has a sketch
of one bit a number, and only the vectors with the most promising sketches are read and compared in full.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Mapping, Sequence
from operator import mul

LEAST = 0.2
"""Cosine similarity below which two texts have nothing to do with each other."""
COMPARED = 100_000
"""Numbers that one search compares in full: 65 vectors of 1,536 numbers, or 1,000 of 100."""


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


def sketch(data: bytes) -> bytes:
    """One bit for each number of a packed vector: whether it lies above the mean of them. The sign alone
    would say nothing about vectors that have no negative numbers."""
    numbers = unpack(data)
    mean = sum(numbers) / len(numbers)
    bits = "".join("1" if number > mean else "0" for number in numbers)
    return int(bits, 2).to_bytes((len(bits) + 7) // 8, "big")


def promising(sketches: Mapping[str, bytes], query: bytes, limit: int) -> list[str]:
    """The facts whose sketches differ least from the query's: as many as may be compared in full, and never
    fewer than are wanted. Sketches of another length are of another model under the same name."""
    sought = sketch(query)
    wanted, size = int.from_bytes(sought, "big"), len(sought)
    apart = {
        fact: (int.from_bytes(own, "big") ^ wanted).bit_count()
        for fact, own in sketches.items()
        if len(own) == size
    }
    most = max(limit, COMPARED // (len(query) // 4))
    return sorted(apart, key=apart.__getitem__)[:most] if len(apart) > most else list(apart)


def nearest(vectors: Mapping[str, bytes], query: bytes, limit: int) -> list[str]:
    """The facts that mean most nearly the same, the nearest first."""
    sought = unpack(query)
    scored = [
        (sum(map(mul, sought, unpack(data))), fact)
        for fact, data in vectors.items()
        if len(data) == len(query)
    ]
    close = sorted((pair for pair in scored if pair[0] >= LEAST), key=lambda pair: -pair[0])
    return [fact for _, fact in close[:limit]]
