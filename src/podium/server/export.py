"""Export of the OpenAPI description: `python -m podium.server.export FILE`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from podium.server.app import build_api


def main(arguments: list[str]) -> None:
    """Write the description; a file that holds it already is left as it is."""
    file = Path(arguments[0])
    text = json.dumps(build_api().openapi(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
