"""JSON encoding, decoding, schemas and fingerprints of values, the same for a live run and a replay."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from datetime import date, datetime, time
from functools import lru_cache
from pathlib import PurePath
from typing import Any, cast

import msgspec

from podium.engine.failure import unawaited
from podium.errors import NotEncodableError

Raw = msgspec.Raw


def encode(value: Any) -> bytes:
    """Return the JSON bytes of a value. Replaces lone surrogates; raises `NotEncodableError` for what JSON
    cannot hold."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_without_surrogates(value))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotEncodableError(
            f"A value of type {type(value).__name__} cannot be logged: {unawaited(value) or error}.",
            hint="Use JSON-like data, dataclasses, msgspec structs or pydantic models.",
        ) from error


def decode(data: bytes | Raw) -> Any:
    """Decode JSON to plain data."""
    return msgspec.json.decode(data)


def fingerprint(value: Any) -> str:
    """Return a short, stable hash of a value: equal values have equal fingerprints on every machine."""
    try:
        data = _SORTED.encode(value)
    except UnicodeEncodeError:
        data = _SORTED.encode(_without_surrogates(value))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotEncodableError(
            f"An input of type {type(value).__name__} cannot be fingerprinted: {error}.",
            hint="Pass JSON-like data, dataclasses, msgspec structs or pydantic models to steps.",
        ) from error
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def content_hash(data: bytes) -> str:
    """Return the SHA-256 of the data, which is the name of its blob."""
    return hashlib.sha256(data).hexdigest()


@lru_cache(maxsize=512)
def reader(returns: Any) -> Callable[[bytes | Raw], Any]:
    """Return a function that decodes JSON bytes to `returns`: any type that msgspec or pydantic supports."""
    if returns is None or returns is Any:
        return decode
    if _is_pydantic(returns):
        validate = sys.modules["pydantic"].TypeAdapter(returns).validator.validate_json
        return lambda data: validate(bytes(data))
    decoder = msgspec.json.Decoder(returns, dec_hook=_decode_other)
    return decoder.decode


def convert(value: Any, kind: Any) -> Any:
    """Convert plain data, or text that a person typed, to a type. Raises `msgspec.ValidationError`."""
    return msgspec.convert(value, kind, strict=False, dec_hook=_decode_other)


@lru_cache(maxsize=512)
def schema(returns: Any) -> dict[str, Any]:
    """The JSON schema of a type."""
    if _is_pydantic(returns):
        return cast("dict[str, Any]", sys.modules["pydantic"].TypeAdapter(returns).json_schema())
    return msgspec.json.schema(returns)


def _is_pydantic(kind: Any) -> bool:
    """Return whether a type is or contains a pydantic model. Never imports pydantic, which is slow to load: a
    model can only exist if it is imported already."""
    pydantic = sys.modules.get("pydantic")
    if pydantic is None:
        return False
    base = pydantic.BaseModel
    if isinstance(kind, type):
        return issubclass(kind, base)
    return any(_is_pydantic(part) for part in getattr(kind, "__args__", ()))


def _encode_other(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, (datetime, date, time)):  # pragma: no cover - msgspec knows these
        return value.isoformat()
    raise TypeError(f"{type(value).__qualname__} has no JSON form")


def _decode_other(kind: type, value: Any) -> Any:
    """Decode the types that `_encode_other` writes as text."""
    if issubclass(kind, PurePath) and isinstance(value, str):
        return kind(value)
    raise TypeError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")


def _without_surrogates(value: Any) -> Any:
    """Return a copy as plain data in which question marks replace lone surrogates."""
    return _clean(msgspec.to_builtins(value, enc_hook=_to_builtin))


def _to_builtin(value: Any) -> Any:
    return decode(value) if isinstance(value, Raw) else _encode_other(value)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8") if not value.isascii() else value
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {_clean(key): _clean(item) for key, item in items}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_clean(item) for item in cast("list[Any]", value)]
    return value


_ENCODER = msgspec.json.Encoder(enc_hook=_encode_other)
_SORTED = msgspec.json.Encoder(enc_hook=_encode_other, order="deterministic")
