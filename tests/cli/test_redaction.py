"""No secret leaves on any way out of the command line: results, reports, files, errors and logs."""

from __future__ import annotations

from base64 import b64encode

import pytest

from tests.cli.shell import Output, Shell

KEY = "Planted-0123456789-value"
PASSWORD = "Db-pw-42/x"
FORMAT = "github_pat_11AAAAAAA0123456789abc_def"
SECRETS = {"APP_KEY": KEY, "DATABASE_URL": f"postgresql://me:{PASSWORD.replace('/', '%2F')}@db/app"}
ENCODED = b64encode(KEY.encode()).decode()[:-4], KEY.encode().hex()
TOLD = (KEY, PASSWORD, PASSWORD.replace("/", "%2F"), FORMAT, *ENCODED)

LEAKY = f"""
import logging
from base64 import b64encode
from typing import ClassVar

import podium

TEXT = {" ".join((KEY, PASSWORD, FORMAT))!r}
TEXT += " " + b64encode({KEY!r}.encode()).decode() + " " + {KEY!r}.encode().hex()
LOG = logging.getLogger("some.program")


class Told(podium.EventData, frozen=True, kw_only=True):
    type: ClassVar[str] = "leaky.told"
    text: str


async def leaky(run: podium.Run, request: str) -> object:
    LOG.warning("the key is %s", TEXT)
    try:
        raise ValueError(TEXT)
    except ValueError:
        LOG.exception("failed")
    run.warn(TEXT)
    run.emit(Told(text=TEXT))
    await run.artifact(TEXT[:24] + ".txt", TEXT)
    await run.artifact("page.html", f"<p>{{TEXT}}</p>", "text/html")
    said = await run.ask(podium.Agent("writer", "writer", "Write " + TEXT), "draft", prompt="Say " + TEXT)
    await run.step("s", str.upper, "done " + TEXT, key=TEXT[:24])
    if request.startswith("fail"):
        raise ValueError(TEXT)
    return {{"text": TEXT, TEXT: said}}


async def model(call: podium.Call) -> str:
    assert not any(part in call.prompt + call.system for part in TEXT.split())
    return TEXT


class Odd(podium.Workflow):
    def check_gates(self, given: object) -> None:
        raise LookupError(TEXT)


flow = podium.Workflow(leaky, "leaky")
odd = Odd(leaky, "odd")
"""


@pytest.fixture
def leaky(podium: Shell) -> Shell:
    (podium.folder / "leaky.py").write_text(LEAKY)
    podium.env |= SECRETS
    return podium


def check(output: Output) -> None:
    for secret in TOLD:
        assert secret not in output.out
        assert secret not in output.err


@pytest.mark.parametrize("request_", ["go", "fail"])
def test_no_way_out_shows_a_secret(leaky: Shell, request_: str) -> None:
    words = ("run", "leaky.py:flow", f"{request_} {KEY} {FORMAT}", "--model", "python:leaky.py:model")
    for mode in ((), ("--json",), ("--events",), ("--quiet",)):
        output = leaky(*words, *mode, code=None)
        check(output)
        assert "the key is [redacted]" in output.err
        assert "ValueError: [redacted]" in output.err
    for looked in (
        "show last",
        "show last --json",
        "show last --all",
        "show last --output",
        "events last",
        "events last --json",
        "report last",
        "report last --format html",
        "report last --json",
        "artifacts last",
        "artifacts last --json",
        "artifacts last page.html",
        "runs",
        "runs --json",
        "trace last --content --json",
    ):
        check(leaky(*looked.split(), code=None))
    stored = b"".join(file.read_bytes() for file in leaky.folder.glob("podium.sqlite*") if file.is_file())
    assert not any(secret.encode() in stored for secret in TOLD)


@pytest.mark.parametrize("debug", ["", "1"])
def test_an_unexpected_error_shows_no_secret(leaky: Shell, debug: str) -> None:
    for mode in ((), ("--json",)):
        output = leaky("run", "leaky.py:odd", "x", *mode, code=1, PODIUM_DEBUG=debug)
        assert "[redacted]" in output.out + output.err
        check(output)


@pytest.mark.parametrize(
    "words",
    [
        ("show", KEY),
        ("shwo", FORMAT),
        ("run", "council", "x", f"--{FORMAT}"),
        ("runs", FORMAT),
        ("run", FORMAT, "x"),
        ("runs", "--store", "postgre://me:Db-pw-42%2Fx@db/app"),
    ],
)
def test_a_mistake_on_the_command_line_shows_no_secret(leaky: Shell, words: tuple[str, ...]) -> None:
    check(leaky(*words, code=None))
    check(leaky(*words, "--json", code=None))


def test_a_mistake_in_the_settings_shows_no_secret(leaky: Shell) -> None:
    (leaky.folder / "podium.toml").write_text(f'max_usd = "{FORMAT}"\n')
    output = leaky("runs", code=2)
    check(output)
    assert "max_usd" in output.err
