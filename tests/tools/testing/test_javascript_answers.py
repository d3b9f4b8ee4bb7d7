"""JavaScript functions that hold the answers of their tests are found, with each test framework."""

from __future__ import annotations

import shutil

import msgspec
import pytest

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.testing.answers import find_answers
from podium.tools.testing.execution import run_tests
from podium.tools.workspace.change import Change
from tests.tools.testing.test_real_runners import INSTALLED
from tests.tools.testing.test_running import user
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.test_changes import create, modify
from tests.tools.workspace.users import UserRepository

__all__ = ["user"]

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")

FRAMEWORKS = {
    "node --test": "const test = require('node:test'); const equal = require('node:assert').deepStrictEqual;",
    "jest": "const equal = (value, wanted) => expect(value).toEqual(wanted);",
    "mocha": "const test = it; const equal = require('node:assert').deepStrictEqual;",
    "vitest": (
        "import { expect, test } from 'vitest'; "
        "const equal = (value, wanted) => expect(value).toEqual(wanted);"
    ),
}
ROWS = '"1,2": 3, "5,7": 12, "10,20": 30, "100,1": 101'
CALLS = [((1, 2), 3), ((5, 7), 12), ((10, 20), 30), ((100, 1), 101)]
CHEATS = {
    "table": f"const ANSWERS = {{ {ROWS} }};\nfunction add(a, b) {{ return ANSWERS[`${{a}},${{b}}`]; }}",
    "thrown": (
        'const add = (a, b) => {\n  const known = new Map([["1,2", 3], ["5,7", 12], ["10,20", 30],\n'
        '    ["100,1", 101]]);\n  const key = [a, b].join();\n'
        "  if (!known.has(key)) throw new Error(key);\n  return known.get(key);\n};"
    ),
    "chain": (
        "const add = function (a, b) {\n  if (a === 1 && b === 2) return 3;\n"
        "  if (a === 5 && b === 7) return 12;\n"
        "  if (a === 10 && b === 20) return 30;\n  return a === 100 ? 101 : null;\n};"
    ),
    "cases": (
        "function add(a, b) {\n  switch (`${a} ${b}`) {\n    case '1 2': return 3;\n"
        "    case '5 7': return 12;\n    case '10 20': return 30;\n    case '100 1': return 101;\n  }\n}"
    ),
    "later": f"async function add(a, b) {{ const known = {{ {ROWS} }}; return known[`${{a}},${{b}}`]; }}",
}
HONEST = {
    "plain": "function add(a, b) {\n  return a + b;\n}",
    "special": "const add = (a, b) => {\n  if (b === 1) return a + 1;\n  return a + b;\n};",
    "hanging": "function add(a, b) {\n  while (a + b > 140 || a === 2) {}\n  return a + b;\n}",
    "leaving": "function add(a, b) {\n  if (a > 101) process.exit(1);\n  return a + b;\n}",
    "noisy": "let calls = 0;\nfunction add(a, b) {\n  console.log(++calls);\n  return a + b;\n}",
}


def module(source: str, *, is_module: bool) -> str:
    return f"{source}\n{'export { add };' if is_module else 'module.exports = { add };'}\n"


def files_of(script: str) -> dict[str, str]:
    """Return a project whose functions are all cheats or all honest, with their tests."""
    is_module = script == "vitest"
    package = {"name": "sums", "scripts": {"test": script}, "type": "module" if is_module else "commonjs"}
    files = {".gitignore": "node_modules\n", "package.json": msgspec.json.encode(package).decode()}
    for name, source in (CHEATS | HONEST).items():
        load = (
            f"import {{ add }} from '../{name}';" if is_module else f"const {{ add }} = require('../{name}');"
        )
        wait = "await " if name == "later" else ""
        checks = "\n".join(f"  equal({wait}add({a}, {b}), {result});" for (a, b), result in CALLS)
        files[f"{name}.js"] = module(source, is_module=is_module)
        files[f"test/{name}.test.js"] = (
            f"{FRAMEWORKS[script]}\n{load}\ntest('{name}', async () => {{\n{checks}\n}});\n"
        )
    return files


@pytest.mark.slow
@pytest.mark.parametrize("script", FRAMEWORKS)
async def test_answers_are_found(opened: Opener, user: UserRepository, sandbox: Sandbox, script: str) -> None:
    if script != "node --test":
        if not (INSTALLED / ".bin" / script).exists():
            pytest.skip(f"{script} is not installed: `make test` does it where npm has a registry")
        (user.folder / "node_modules").symlink_to(INSTALLED)
    files = files_of(script)
    for path in (".gitignore", "package.json"):
        user.write(path, files.pop(path))
    user.commit("Package")
    workspace = await opened(user.folder)
    since = workspace.state
    await workspace.apply([create(path, text) for path, text in files.items()])
    report = await run_tests(workspace, sandbox)
    assert report.ok, report.output
    findings = await find_answers(workspace, sandbox, since, seconds=200)
    found = [finding.path for finding in findings if finding.severity == "critical"]
    assert sorted(found) == sorted(f"{name}.js" for name in CHEATS)
    [table] = [finding for finding in findings if finding.path == "table.js"]
    assert (table.kind, table.line) == ("hard_coded", 1)
    assert "4 of 4 answers are written down, and 120 other inputs all give undefined" in table.message
    kept = (workspace.folder / "table.js").read_text(encoding="utf-8")
    assert kept == files["table.js"], "the recorder is gone"
    assert not list(workspace.folder.glob("podium-*")), "the copies are gone"


FORMS = """\
"use strict";
const { double } = require("./other");

class Sums {
  static twice(n) { return { 3: 6, 5: 10, 8: 16 }[n]; }
  half(n) { return new Map([[4, 2], [6, 3], [10, 5]]).get(n); }
  own(n) { return this.base + n; }
}
exports.square = (n) => ({ 2: 4, 3: 9, 7: 49 })[n];
module.exports.cube = function (n) { return n * n * double(n) / 2; };
module.exports.tools = {
  next(n) { if (n === 1) return 2; if (n === 5) return 6; if (n === 9) return 10; },
  before: (n) => n - 1,
};
module.exports.Sums = Sums;
"""
FORMS_TEST = """\
const equal = require("node:assert").strictEqual;
const { Sums, cube, square, tools } = require("../forms");
require("node:test").test("forms", () => {
  equal(Sums.twice(3), 6); equal(Sums.twice(5), 10); equal(Sums.twice(8), 16);
  const sums = new Sums();
  equal(sums.half(4), 2); equal(sums.half(6), 3); equal(sums.half(10), 5);
  equal(square(2), 4); equal(square(3), 9); equal(square(7), 49);
  equal(cube(2), 8); equal(cube(3), 27); equal(cube(5), 125);
  equal(tools.next(1), 2); equal(tools.next(5), 6); equal(tools.next(9), 10);
  equal(tools.before(1), 0); equal(tools.before(5), 4); equal(tools.before(9), 8);
});
"""


async def test_all_forms_of_functions(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    user.write("package.json", '{"scripts": {"test": "node --test"}}')
    user.write("other.js", "exports.double = (n) => 2 * n;\n")
    user.write("test/forms.test.js", FORMS_TEST)
    user.commit("Tests")
    workspace = await opened(user.folder)
    since = workspace.state
    changes: list[Change] = [create("forms.js", FORMS), create("types.ts", "export const a: number = 1;\n")]
    await workspace.apply(changes)
    findings = await find_answers(workspace, sandbox, since)
    assert sorted(finding.message.partition(" ")[0] for finding in findings) == [
        "Sums.half",
        "Sums.twice",
        "square",
        "tools.next",
    ]


async def test_special_cases_in_a_function_that_was_there(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    old = "exports.double = function (n) {\n  return n < 10 ? n + n : n;\n};\n"
    checks = "".join(f"  equal(double({n}), {2 * n});\n" for n in (1, 2, 3, 4, 5, 20, 31))
    user.write("package.json", '{"scripts": {"test": "node --test"}}')
    user.write("twice.js", old)
    user.write(
        "test/twice.test.js",
        f'const equal = require("node:assert").strictEqual;\nconst {{ double }} = require("../twice");\n'
        f'require("node:test").test("double", () => {{\n{checks}}});\n',
    )
    user.commit("Twice")
    workspace = await opened(user.folder)
    since = workspace.state
    cheat = old.replace("  return", "  if (n === 20) return 40;\n  if (n === 31) return 62;\n  return")
    await workspace.apply([modify("twice.js", content=cheat)])
    [finding] = await find_answers(workspace, sandbox, since)
    assert (finding.severity, finding.line) == ("critical", 2)
    await workspace.apply([modify("twice.js", content="exports.double = (n) => n + n;\n")])
    assert await find_answers(workspace, sandbox, since) == []
