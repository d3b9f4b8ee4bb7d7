"""Ordinary text comes through redaction unchanged: prose, source code, hashes and encoded data."""

from __future__ import annotations

import hashlib
import random
import sysconfig
import uuid
from base64 import b32encode, b64encode, urlsafe_b64encode
from pathlib import Path

from podium.engine.codec import encode
from podium.engine.redaction import redactor

ROOT = Path(__file__).parents[2]
LIBRARY = Path(sysconfig.get_path("stdlib"))
REALLY_KEYS = {"test_urllib2net.py"}
"""Files that hold the form of a secret: `http://evil:thing@example.com`."""

PROSE = (
    "Die Behörde für Straßenverkehr hat am 3. März 2024 die Donaudampfschifffahrtsgesellschaft geprüft; "
    "E-Mail: kontakt@beispiel.de, Az. 17-K-4711/23, siehe https://www.beispiel.de:8443/a?b=c@d.",
    "東京都は2024年に新しい条例を発表した。詳細は https://example.jp/条例?id=sk-12 を参照。",
    "Der Token-Ring, das Pass-Wort und der Schlüssel: sk-alieren, task-bezogen, risk-avers.",
    "API_KEY=your-api-key-here, Authorization: Bearer <token>, password: hunter2, postgres://localhost/db",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, commit 9125da3f0c2b7e41d6a8",
    "npm_config_registry npm_package_dependencies_typescript_version hf_hub_download hf_model_card_metadata",
    "github_pat_ is the prefix of a token; glpat-, ghp_, xoxb- and SG. are others, and eyJ starts a JWT.",
    "https://example.com/a/b?key=value&token=abc#frag ssh://git@github.com:22/a/b.git user@host:path/to",
)


def test_prose_stays() -> None:
    for text in PROSE:
        for data in (text.encode(), encode({"text": text}), encode(encode({"text": text}).decode())):
            assert redactor()(data) == data


def test_our_own_documentation_and_source_stay() -> None:
    files = [
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("*.md"),
        *ROOT.glob("src/**/*.py"),
        *ROOT.glob("ui/src/**/*.ts*"),
    ]
    redact = redactor()
    changed = [file.name for file in files if redact(data := file.read_bytes()) != data]
    assert len(files) > 400
    assert changed == []


def test_the_standard_library_stays() -> None:
    """Some 600 files, 13 MB: among them long tables of digits and letters, and tests of e-mail and URLs."""
    files = [*LIBRARY.glob("*.py"), *LIBRARY.glob("[a-l]*/*.py"), *LIBRARY.glob("test/test_[a-eu]*.py")]
    redact = redactor()
    changed = {file.name for file in files if redact(data := file.read_bytes()) != data}
    assert len(files) > 300
    assert changed <= REALLY_KEYS


def test_hashes_identifiers_and_encoded_data_stay() -> None:
    chance = random.Random(11)
    redact = redactor()
    for _ in range(300):
        noise = chance.randbytes(200)
        for data in (
            hashlib.sha1(noise).hexdigest().encode(),
            b"task-" + hashlib.md5(noise).hexdigest().encode(),
            str(uuid.UUID(bytes=noise[:16])).encode(),
            b64encode(noise),
            urlsafe_b64encode(noise),
            b32encode(noise),
            noise.hex().encode(),
            b"data:image/png;base64," + b64encode(noise),
            encode({"id": noise[:12].hex(), "path": f"step/{noise[:4].hex()}", "n": chance.random()}),
        ):
            assert redact(data) == data
