"""Child process that reads HTML and PDF documents for its parent, one after another, until its input ends.

Each document has a CPU time limit, even if the parent no longer waits for it.
"""

from __future__ import annotations

import resource
import sys
from typing import BinaryIO

import msgspec

from podium.tools.documents.document import Document, decoded
from podium.tools.documents.plain import PLAIN, read_plain
from podium.tools.documents.word_vectors import Meaning, meaning_of
from podium.tools.tool import ToolError

CPU_SECONDS = 20
MAX_MEMORY = 2_000_000_000
INSTALL = "pip install 'podium[research]'"
LENGTH = 8
"""Size of the length prefix of each message, in bytes."""


class ReadRequest(msgspec.Struct, frozen=True):
    """A document to read."""

    media_type: str
    data: bytes
    embed: bool = False
    """Also compute its vectors."""


class ReadResponse(msgspec.Struct, frozen=True):
    """The document, or the reason why it could not be read."""

    document: Document | None = None
    trouble: str = ""
    meaning: Meaning | None = None


def main() -> None:
    _bound(resource.RLIMIT_AS, MAX_MEMORY)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while (asked := _next(source)) is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _bound(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + CPU_SECONDS)
        answer = msgspec.msgpack.encode(_answered(asked))
        sink.write(len(answer).to_bytes(LENGTH) + answer)
        sink.flush()


def _bound(limit: int, soft: int) -> None:
    _, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _next(source: BinaryIO) -> ReadRequest | None:
    head = source.read(LENGTH)
    if len(head) < LENGTH:
        return None
    return msgspec.msgpack.decode(source.read(int.from_bytes(head)), type=ReadRequest)


def _answered(asked: ReadRequest) -> ReadResponse:
    try:
        document = _read(asked)
        return ReadResponse(
            document, meaning=meaning_of(document.text, document.title) if asked.embed else None
        )
    except ToolError as error:
        return ReadResponse(trouble=str(error))
    except ModuleNotFoundError as error:
        return ReadResponse(trouble=f"reading it needs {error.name}: {INSTALL}")
    except Exception as error:  # noqa: BLE001 - whatever a hostile document does to a library is told, not fatal
        return ReadResponse(trouble=f"it cannot be read ({type(error).__name__})")


def _read(asked: ReadRequest) -> Document:
    if asked.media_type == "application/pdf":
        from podium.tools.documents.pdf import read_pdf  # noqa: PLC0415 - an extra, slow to import

        return read_pdf(asked.data)
    if asked.media_type in PLAIN:
        return read_plain(asked.data, asked.media_type)
    from podium.tools.documents.html import read_html  # noqa: PLC0415 - an extra, slow to import

    return read_html(decoded(asked.data))


if __name__ == "__main__":
    main()
