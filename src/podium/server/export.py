"""OpenAPI export for type generators: `python -m podium.server.export FILE`.

With a second file, writes the hash of the description into that file's first line, so that outdated types are
noticed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from podium.server.app import build_api


def main(arguments: list[str]) -> None:
    """Write the OpenAPI description to a file, or its hash into the first line of the types file."""
    description = Path(arguments[0])
    if len(arguments) == 1:
        text = json.dumps(build_api().openapi(), indent=2, ensure_ascii=False, sort_keys=True)
        description.write_text(f"{text}\n", encoding="utf-8")
        return
    types = Path(arguments[1])
    digest = hashlib.sha256(description.read_bytes()).hexdigest()
    made = f"// Made of openapi.json, sha256 {digest}: `make ui-types` writes both anew.\n"
    types.write_text(made + types.read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
