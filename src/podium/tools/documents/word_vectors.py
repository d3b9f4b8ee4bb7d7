"""Static word vectors (extra `semantic`): passage embeddings of 256 dimensions, computed offline.

The vectors and the tokenizer are files in the wheel of wordllama. The package itself is not imported: it
configures logging for the whole process, and its loader downloads a tokenizer that the wheel already
contains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from podium.tools.tool import ToolError

MODEL = "wordllama-l2-supercat-256"
"""Model name stored with the vectors; vectors of different models are never compared."""
SIZE = 256
INSTALL_SEMANTIC = "pip install 'podium[semantic]'"
PASSAGE = 500
"""Maximum characters of a passage."""
_PACKAGES = ("wordllama", "numpy", "tokenizers")
_WEIGHTS, _TENSOR = Path("weights", "l2_supercat_256.safetensors"), "embedding.weight"
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_SCALE = 127 / 0.3
"""Quantization factor: components of a unit vector of this size rarely reach 0.3."""
_BLOCK = 256
_END = re.compile(r"[.!?…。！？][\"'”’)\]]*\s+|\n+")


class Meaning(msgspec.Struct, frozen=True):
    """The passages of a document as vectors."""

    places: list[tuple[int, int]]
    """Start and end of each passage in the stored text."""
    vectors: bytes
    """`SIZE` signed bytes per passage."""


def is_installed() -> bool:
    return all(find_spec(name) is not None for name in _PACKAGES)


def check() -> None:
    """Raise a `ToolError` if vectors cannot be computed."""
    if not is_installed():
        raise ToolError(f"Vectors need an extra: {INSTALL_SEMANTIC}.")
    try:
        vectors_of(["a word"])
    except (ImportError, OSError, KeyError, ValueError) as error:
        raise ToolError(f"The word vectors cannot be loaded ({type(error).__name__}: {error}).") from error


def meaning_of(text: str, title: str = "") -> Meaning:
    """Return the vectors of a text, passage by passage."""
    places = passages(text)
    return Meaning(places, vectors_of([f"{title}\n{text[start:end]}" for start, end in places]))


def passages(text: str) -> list[tuple[int, int]]:
    """Split a text at ends of lines and sentences, or at `PASSAGE` characters where there are none."""
    places: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = min(start + PASSAGE, len(text))
        if end < len(text):
            ends = [match.end() for match in _END.finditer(text, start + PASSAGE // 4, end)]
            end = ends[-1] if ends else end
        if text[start:end].strip():
            places.append((start, end))
        start = end
    return places


def vectors_of(texts: Sequence[str]) -> bytes:
    """Return a quantized unit vector for each text, concatenated as signed bytes."""
    np, _, weights = _model()
    rows = np.zeros((len(texts), SIZE), dtype=np.float32)
    for row, text in enumerate(texts):
        tokens = [token for word in text.split() for token in _tokens(word)]
        if tokens:
            mean = weights[tokens].astype(np.float32).mean(axis=0)
            rows[row] = mean / max(float(np.linalg.norm(mean)), 1e-9)
    return np.clip(np.rint(rows * _SCALE), -127, 127).astype(np.int8).tobytes()


@lru_cache(maxsize=50_000)
def _tokens(word: str) -> list[int]:
    """Return the tokens of a word. Cached: tokens do not depend on context, and most words repeat."""
    return _model()[1].encode(word, add_special_tokens=False).ids


def nearest(query: bytes, documents: Sequence[bytes], limit: int) -> list[tuple[int, int, float]]:
    """Return the documents nearest to a vector, nearest first: document index, passage index and cosine. Each
    document must have at least one vector."""
    np = _numpy()
    if not documents or limit < 1:
        return []
    scores = _similarities(query, b"".join(documents))
    ends = np.cumsum([len(vectors) // SIZE for vectors in documents])
    starts = np.concatenate(([0], ends[:-1]))
    best = np.maximum.reduceat(scores, starts)
    order = np.argsort(-best, kind="stable")[:limit]
    return [
        (int(which), int(scores[starts[which] : ends[which]].argmax()), float(best[which])) for which in order
    ]


def _similarities(query: bytes, vectors: bytes) -> Any:
    """Return the cosine of one vector with each of many, as an array; computed in cache-sized blocks."""
    np = _numpy()
    rows = np.frombuffer(vectors, dtype=np.int8).reshape(-1, SIZE)
    vector = np.frombuffer(query, dtype=np.int8).astype(np.float32) / (_SCALE * _SCALE)
    blocks = (rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK))
    return np.concatenate([block.astype(np.float32) @ vector for block in blocks])


def _numpy() -> Any:
    return import_module("numpy")


@cache
def _model() -> tuple[Any, Any, Any]:
    """Load the model once per process. The weights are memory-mapped, so that processes share them."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("wordllama is not installed", name="wordllama")
    np, home = _numpy(), Path(spec.submodule_search_locations[0])
    tokenizer = import_module("tokenizers").Tokenizer.from_file(str(home / _TOKENIZER))
    with (home / _WEIGHTS).open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(size))[_TENSOR]
    count, width = about["shape"]
    if about["dtype"] != "F16" or width != SIZE:
        raise ValueError(f"vectors of {width} {about['dtype']} numbers")
    begin = 8 + size + about["data_offsets"][0]
    return np, tokenizer, np.memmap(home / _WEIGHTS, "<f2", "r", begin, (count, width))
