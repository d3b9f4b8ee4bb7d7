"""`cargo test`, read from what it prints."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from podium.tools.testing.command import Project, TestCommand
from podium.tools.testing.report import Counts, Failure
from podium.tools.testing.trimming import MAX_FAILURE, ends_of, first_line, plain

_TEST = re.compile(r"^test (.+?) \.\.\. (ok|FAILED|ignored)\b", re.MULTILINE)
_RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_SECTION = re.compile(
    r"^---- (.+?) (?:stdout )?----\n(.*?)(?=^---- |^failures:|\Z)", re.MULTILINE | re.DOTALL
)
_PANIC = re.compile(r"panicked at (?:'[^']*', )?([\w./-]+\.rs):(\d+)")
_ERROR = re.compile(r"^error(?:\[E\d+\])?: (.+)$(?:\n\s*--> ([\w./-]+):(\d+))?", re.MULTILINE)
_COUNT = re.compile(r"could not compile|aborting due to")


def find_cargo(project: Project) -> TestCommand | None:
    """How a crate is tested; its dependencies must have been fetched or vendored."""
    if not project.has("Cargo.toml"):
        return None
    home, program = Path.home(), shutil.which("cargo")
    # Never the whole of ~/.cargo: it holds the tokens of registries.
    wanted = [home / ".cargo" / part for part in ("bin", "registry", "git")] + [home / ".rustup"]
    return TestCommand(
        argv=[program or "cargo", "test", "--offline", "--no-fail-fast", "--color=never"],
        framework="cargo",
        told_as="cargo test",
        why="Cargo.toml is there",
        env={
            "CARGO_HOME": str(home / ".cargo"), "RUSTUP_HOME": str(home / ".rustup"),
            "CARGO_TARGET_DIR": "/tmp/target", "CARGO_TERM_PROGRESS_WHEN": "never", "CARGO_INCREMENTAL": "0",
        },
        readable=[str(folder) for folder in wanted if folder.is_dir()],
    )  # fmt: skip


def read_cargo(stdout: str, stderr: str, tree: Path) -> Counts | None:
    """The tests of all binaries together; `None` if nothing was built or run."""
    out, err = plain(stdout, tree), plain(stderr, tree)
    results = [tuple(map(int, found)) for found in _RESULT.findall(out)]
    tests = [(name, outcome) for name, outcome in _TEST.findall(out)]
    if not results:
        failures = _broken(err)
        return Counts(errors=len(failures), failures=failures) if failures else None
    sections = dict[str, str](_SECTION.findall(out))
    failures = [_failure(name, sections.get(name, "")) for name, outcome in tests if outcome == "FAILED"]
    passed, failed, ignored = (sum(column) for column in zip(*results, strict=True))
    broken = _broken(err) if "could not compile" in err else []
    ran = [name for name, outcome in tests if outcome != "ignored"]
    return Counts(passed, failed, len(broken), ignored, [*failures, *broken], ran)


def _failure(name: str, text: str) -> Failure:
    place = _PANIC.search(text)
    after = text[place.end() :].partition("\n")[2] if place else text
    message = first_line(after) or first_line(text) or "The test failed."
    file, line = (place[1], int(place[2])) if place else ("", 0)
    return Failure(name, message, file, line, ends_of(text, MAX_FAILURE))


def _broken(stderr: str) -> list[Failure]:
    """Errors of the compiler."""
    found = list[Failure]()
    for match in _ERROR.finditer(stderr):
        if not _COUNT.search(match[1]):
            text = stderr[match.start() :].partition("\n\n")[0]
            file, line = match[2] or "", int(match[3] or 0)
            found.append(
                Failure(file or "build", match[1], file, line, ends_of(text, MAX_FAILURE), is_error=True)
            )
    return found
