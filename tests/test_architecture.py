"""Tests of the rules for the code: layers, imports, sizes, public names, and lazy imports."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import podium
from podium.engine.events import EVENT_TYPES, EventData

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "podium"
FILES = sorted(PACKAGE.rglob("*.py"))

PACKAGES = (
    "dimensions", "errors", "settings", "engine", "stores", "models", "agents", "tools", "brain",
    "report", "tracing", "workflows", "api", "cluster", "server", "cli",
)  # fmt: skip
"""A file imports only from its own package and from packages before it."""

LIGHT_PACKAGES = {"dimensions", "errors", "settings", "engine", "stores"}
HEAVY = {"pydantic", "pydantic_ai", "jinja2", "rich", "nh3", "markdown_it", "fastapi", "starlette", "mcp"}
"""Never imported by the light packages."""

LAZY = {
    (
        "agents/agent.py",
        "podium.agents.tools",
    ): "few agents are tools; pydantic is slow to import",
    ("agents/tools.py", "podium.models.json_schema"): "only tools of other programs come with a JSON schema",
    ("api/control.py", "podium.models.json_schema"): "few answers carry data",
    ("models/registry.py", "podium.models.providers.hosted"): "hosted models take a second to import",
    ("brain/semantic_search.py", "podium.models.providers.embeddings"): "hosted ones take a second to import",
    ("models/registry.py", "podium.models.prices"): "the tables are read only for models that are in them",
    (
        "cli/commands/models.py",
        "podium.api",
    ): "only `models test` makes a call, in a run of its own",
    ("api/launch.py", "podium.tracing.export"): "nothing of tracing is loaded when it is off",
    ("tracing/export.py", "podium.tracing.sdk"): "OpenTelemetry is an extra, and slow to import",
    ("tools/toolbox.py", "podium.tools.web"): "an extra, and slow to import",
    ("tools/toolbox.py", "podium.tools.mcp.connection"): "an extra, and slow to import",
    ("tools/toolbox.py", "podium.tools.toolsets"): "pydantic is slow to import",
    ("tools/toolsets.py", "podium.tools.mcp.live_call"): "an extra, and slow to import",
    ("tools/documents/child.py", "pypdf"): "an extra, and slow to import",
    ("tools/documents/child.py", "pypdf.errors"): "an extra, and slow to import",
    ("tools/documents/child.py", "podium.tools.documents.html"): "an extra, and slow to import",
    ("tools/documents/html.py", "trafilatura"): "slow to import, and few pages need it",
    ("tools/sources/providers.py", "podium.tools.sources.online"): "an extra, and slow to import",
    ("tools/sources/providers.py", "podium.tools.web"): "an extra, and slow to import",
    ("stores/__init__.py", "podium.stores.postgres.store"): "an extra, and slow to import",
    ("stores/maintenance.py", "podium.stores.postgres.connection"): "an extra, and slow to import",
    ("cli/failure.py", "podium.workflows"): "only who forgets the workflow's name is told which there are",
    ("cli/card.py", "podium.cli.markdown"): "the Markdown parser is slow to import, and most print none",
    ("cli/main.py", "podium.cli.commands.run"): "a workflow's own flags are read only when one is run",
    ("cli/flags.py", "podium.engine.budget"): "the quick commands have no budget to import",
    ("cli/flags.py", "podium.cli.store"): "only shell completion opens a store here",
    ("cli/commands/report.py", "podium.report.markdown"): "each format loads only its own renderer",
    ("cli/commands/report.py", "podium.report.html"): "each format loads only its own renderer",
    ("cli/commands/serve.py", "podium.server.http_server"): "an extra, and slow to import",
    ("cli/commands/worker.py", "podium.cluster.worker"): "an extra, and slow to import",
    ("cli/commands/worker.py", "podium.cluster.health"): "an extra, and slow to import",
    ("cluster/fleet.py", "croniter"): "an extra, and only a schedule needs it",
    ("cluster/port.py", "podium.cluster.temporal.engine"): "an extra, and slow to import",
    ("cluster/port.py", "podium.cluster.procrastinate.engine"): "an extra, and slow to import",
}
"""(file, imported module) -> why this one import stands inside a function."""

SLOW_TO_IMPORT = (
    "pydantic", "pydantic_ai", "genai_prices", "httpx2", "openai", "anthropic", "jinja2", "fastapi", "mcp",
    "nh3", "opentelemetry", "httpcore2", "trafilatura", "lxml", "ddgs", "anyio", "pypdf", "starlette",
    "uvicorn", "sse_starlette", "psycopg", "procrastinate", "croniter",
)  # fmt: skip
"""Not loaded by `import podium`, `podium --help` or `podium runs`."""

PUBLIC = (
    "Agent", "Budget", "BudgetExhaustedError", "Call", "Charge", "Event", "EventData", "Failed", "File",
    "InvalidReplyError", "Message", "ModelFailedError", "Ok", "Outcome", "Partial", "PodiumError",
    "Process", "Retry", "Run", "RunHandle", "RunResult", "RunState", "Settings", "StepFailedError",
    "StopRun", "Thread", "Tool", "ToolCall", "ToolContext", "Workflow", "__version__", "answer",
    "cancel", "files", "fork", "mcp", "open_store", "rehearses", "replay", "resume", "run", "run_process",
    "start", "tool", "web", "workflow",
)  # fmt: skip
"""What users may rely on. A change here is a change for them: it belongs into the changelog."""

MAX_FILE_LINES = 450
MAX_FUNCTION_LINES = 60


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def package_of(path: Path) -> str:
    """The package of a file: the folder or, for a file at the top, its name."""
    return relative(path).split("/")[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every module that a tree imports, also through `import_module("…")`."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield node, alias.name
            case ast.ImportFrom(module=str(module), level=0):
                yield node, module
            case ast.ImportFrom():
                yield node, "."
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield node, module
            case _:
                pass


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def packages_imported(path: Path) -> set[str]:
    """The packages that a file imports from; `from podium import errors` counts as errors."""
    packages: set[str] = set()
    for node, module in imports(parse(path)):
        if module == "podium" and isinstance(node, ast.ImportFrom):
            packages |= {alias.name for alias in node.names} - {"__version__"}
        elif module.startswith("podium."):
            packages.add(module.split(".")[1])
    return packages


# ── layers ───────────────────────────────────────────────────────────────────────────────────────

INNER = [path for path in FILES if path.parent != PACKAGE or path.stem not in {"__init__", "__main__"}]
"""All files except `podium/__init__.py` and `__main__.py`, which may import every package."""


def test_every_file_is_in_a_known_package() -> None:
    """A new package is named in PACKAGES, at its place in the order."""
    assert [relative(path) for path in INNER if package_of(path) not in PACKAGES] == []


def test_files_import_only_from_their_own_package_and_packages_below() -> None:
    allowed = {name: set(PACKAGES[: nth + 1]) for nth, name in enumerate(PACKAGES)}
    above = {relative(path): packages_imported(path) - allowed[package_of(path)] for path in INNER}
    assert {name: packages for name, packages in above.items() if packages} == {}


def test_the_light_packages_import_nothing_heavy() -> None:
    light = [path for path in INNER if package_of(path) in LIGHT_PACKAGES]
    heavy = {
        relative(path): HEAVY & {module.split(".")[0] for _, module in imports(parse(path))} for path in light
    }
    assert {name: modules for name, modules in heavy.items() if modules} == {}


def test_relative_imports_are_not_used() -> None:
    assert [relative(path) for path in FILES if any(m == "." for _, m in imports(parse(path)))] == []


# ── imports inside functions ─────────────────────────────────────────────────────────────────────


def inner_imports() -> set[tuple[str, str]]:
    return {
        (relative(path), module)
        for path in FILES
        for function in functions(parse(path))
        for node, module in imports(function)
        if not isinstance(node, ast.Call)
    }


def test_imports_inside_functions_are_the_deliberate_ones() -> None:
    assert inner_imports() == set(LAZY)


def test_every_lazy_import_has_a_reason() -> None:
    assert [key for key, reason in LAZY.items() if len(reason) < 10] == []


# ── sizes ──────────────────────────────────────────────────────────────────────────────


def test_files_and_functions_are_of_readable_size() -> None:
    long = [
        f"{relative(path)}: {function.name} has {lines} lines"
        for path in FILES
        for function in functions(parse(path))
        if (lines := (function.end_lineno or 0) - function.lineno + 1) > MAX_FUNCTION_LINES
    ]
    sizes = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert long == []
    assert {name: lines for name, lines in sizes.items() if lines > MAX_FILE_LINES} == {}


def test_every_file_has_a_docstring() -> None:
    assert [relative(path) for path in FILES if not ast.get_docstring(parse(path))] == []


NAMED = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|tsx?|css))`")


def test_the_architecture_page_names_only_files_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = NAMED.findall(page)
    assert len(files) > 40
    assert [name for name in files if not (PACKAGE / name).exists() and not (ROOT / name).exists()] == []


# ── what is public, and what is loaded ───────────────────────────────────────────────────────────


def test_the_public_names_are_the_agreed_ones() -> None:
    assert sorted(podium.__all__) == sorted(PUBLIC)


def test_every_public_name_resolves() -> None:
    assert [name for name in PUBLIC if getattr(podium, name) is None or name not in dir(podium)] == []


def test_an_unknown_name_is_an_ordinary_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = podium.no_such_name  # pyright: ignore


LOADED = (
    "import json, sys\n"
    "try:\n    {code}\n"
    "except SystemExit as stop:\n    assert not stop.code, stop.code\n"
    "print(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})), file=sys.stderr)"
)


COMMAND = "sys.argv = ['podium', *{arguments}]; from podium.cli.main import main; main()"


def loaded_by(code: str, tmp_path: Path) -> set[str]:
    """Top-level names of all modules that a fresh interpreter holds after running `code`."""
    completed = subprocess.run(
        [sys.executable, "-c", LOADED.format(code=code)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert completed.returncode == 0, completed.stderr
    return set(json.loads(completed.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import podium",
        COMMAND.format(arguments=["--help"]),
        COMMAND.format(arguments=["runs"]),
        COMMAND.format(arguments=["brain", "show"]),
        COMMAND.format(arguments=["corpus", "list"]),
        COMMAND.format(arguments=["serve", "--help"]),
        COMMAND.format(arguments=["users", "--help"]),
        "from podium.workflows import SHIPPED, presentation_of; [presentation_of(name) for name in SHIPPED]",
    ],
    ids=[
        "import podium",
        "podium --help",
        "podium runs",
        "podium brain show",
        "podium corpus list",
        "podium serve --help",
        "podium users --help",
        "how workflows are shown",
    ],
)
def test_nothing_slow_is_imported_early(code: str, tmp_path: Path) -> None:
    assert sorted(loaded_by(code, tmp_path) & set(SLOW_TO_IMPORT)) == []


# ── events ───────────────────────────────────────────────────────────────────────────────────────


def event_classes() -> list[type[EventData]]:
    """Every event class of the package, wherever it is declared."""
    for module in pkgutil.walk_packages(podium.__path__, "podium."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    def below(cls: type[EventData]) -> Iterator[type[EventData]]:
        for child in cls.__subclasses__():
            yield child
            yield from below(child)

    return [cls for cls in below(EventData) if cls.__module__.startswith("podium.")]


def test_every_event_class_has_a_namespaced_type_of_its_own_or_says_what_it_is() -> None:
    types = [cls.type for cls in event_classes() if "type" in cls.__dict__]
    assert len(types) > 20
    assert [name for name in types if not re.fullmatch(r"[a-z]+\.[a-z_]+", name)] == []
    assert all(first != second for first, second in pairwise(sorted(types))), "two classes of one type"
    assert [cls.__name__ for cls in event_classes() if "type" not in cls.__dict__ and not cls.__doc__] == []
    assert {EVENT_TYPES[name].type for name in types} == set(types)


# ── the repository ───────────────────────────────────────────────────────────────────────────────

# In pieces, so that this file does not find itself.
UNWANTED = re.compile(
    "|".join(
        [
            r"\bTO" r"DO\b|\bFIX" r"ME\b|\bXX" r"X\b",
            r"/ro" r"ot/|/ho" r"me/\w|/Us" r"ers/\w|/wo" r"rk/",
            r"py" r"pi\.org|python" r"hosted\.org|npm" r"js\.(org|com)",
        ]
    )
)


def tracked_files() -> list[Path]:
    """What is, or would be, committed."""
    completed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if completed.returncode != 0:
        pytest.skip("not a git work tree")
    return [path for name in completed.stdout.splitlines() if (path := ROOT / name).is_file()]


def test_no_leftovers_and_no_paths_of_one_machine() -> None:
    leftovers: list[str] = []
    for path in tracked_files():
        text = path.read_bytes()
        if b"\0" in text:
            continue
        for number, line in enumerate(text.decode("utf-8").splitlines(), 1):
            if UNWANTED.search(line):
                leftovers.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert leftovers == []


def test_no_source_file_is_ignored_by_git() -> None:
    built = PACKAGE / "server" / "ui"  # the wheel has it all the same: `artifacts` in pyproject.toml
    sources = [
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("*")
        if "__pycache__" not in path.parts and not path.is_relative_to(built)
    ]
    completed = subprocess.run(["git", "check-ignore", *sources], cwd=ROOT, capture_output=True, text=True)
    if completed.returncode > 1:
        pytest.skip("not a git work tree")
    assert completed.stdout == "", "an ignored file would be missing from the repository and from the wheel"
