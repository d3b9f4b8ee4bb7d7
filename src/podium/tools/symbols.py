"""Declarations in source files: parsed in Python, matched by shape in other languages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from podium.tools.testing.cases import parse_python

MAX_SYMBOLS = 400
MAX_SIGNATURE = 140


class Symbol(msgspec.Struct, frozen=True):
    """A class, function, method or type."""

    line: int
    text: str
    """The declaration without its body."""
    depth: int = 0
    """1 for a member of a class, 0 otherwise."""


_DECLARED = re.compile(
    r"\b(?:class|def|function\*?|interface|enum|type|struct|trait|fn|const|let|namespace|module|record|object|mod)"
    r"\s+([\w$]+)|([\w$~]+)\s*\(|^(\w+)$"
)

_WORDS = (
    r"(?:export\s+|default\s+|declare\s+|abstract\s+|async\s+"
    r"|public\s+|private\s+|protected\s+|static\s+|final\s+)*"
)
_JAVASCRIPT = (
    rf"^(\s{{0,4}}){_WORDS}(?:class|interface|enum|function\*?|type|namespace)\s+\w+[^{{;=]*",
    r"^(\s{0,4})(?:export\s+)?(?:const|let)\s+\w+\s*(?::[^=]+)?=\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*(?::[^=]+)?=>",
)
_C_LIKE = (
    rf"^(\s{{0,4}}){_WORDS}(?:class|interface|enum|struct|record|trait|object|namespace)\s+\w+[^{{;]*",
    rf"^(\s{{0,4}}){_WORDS}(?!return|else|new|if|for|while|switch)[\w<>\[\],*&:]+\s+[\w*&:~]+\s*\([^;{{]*\)[^;{{]*\{{",
)
_PATTERNS: dict[str, tuple[str, ...]] = {
    ".js": _JAVASCRIPT, ".jsx": _JAVASCRIPT, ".ts": _JAVASCRIPT, ".tsx": _JAVASCRIPT, ".mjs": _JAVASCRIPT,
    ".cjs": _JAVASCRIPT, ".vue": _JAVASCRIPT, ".svelte": _JAVASCRIPT,
    ".go": (r"^()func\s[^{]+", r"^()type\s+\w+[^{]*"),
    ".rs": (
        r"^(\s{0,4})(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|unsafe\s+|const\s+)*"
        r"(?:fn|struct|enum|trait|impl|mod|type|macro_rules!)\b[^{;]*",
    ),
    ".rb": (r"^(\s*)(?:def|class|module)\s+\S.*",),
    ".php": (rf"^(\s{{0,4}}){_WORDS}(?:class|interface|trait|function)\s+\w+[^{{;]*",),
    ".ex": (r"^(\s*)(?:def|defp|defmodule)\s+.+?(?=\sdo|$)",),
    ".java": _C_LIKE, ".kt": _C_LIKE, ".scala": _C_LIKE, ".cs": _C_LIKE, ".c": _C_LIKE, ".h": _C_LIKE,
    ".cc": _C_LIKE, ".cpp": _C_LIKE, ".hpp": _C_LIKE, ".swift": _C_LIKE, ".dart": _C_LIKE,
    ".sh": (r"^()(?:function\s+)?[\w-]+\s*\(\)",),
}  # fmt: skip
_COMPILED = {suffix: tuple(map(re.compile, patterns)) for suffix, patterns in _PATTERNS.items()}


def symbols_of(path: str, text: str) -> list[Symbol]:
    """Return the declarations of a file in order; empty if it cannot be parsed."""
    suffix = "." + path.rpartition("/")[2].rpartition(".")[2]
    if suffix in (".py", ".pyi"):
        symbols = _python_symbols(text)
    else:
        symbols = list(_by_shape(text, _COMPILED.get(suffix, ())))
    return symbols[:MAX_SYMBOLS]


def name_of(symbol: Symbol) -> str:
    """Return the name that a symbol declares; empty if it is not recognised."""
    match = _DECLARED.search(re.sub(r"^func \([^)]*\)", "", symbol.text))
    return next(filter(None, match.groups()), "") if match else ""


def _python_symbols(text: str) -> list[Symbol]:
    tree = parse_python(text)
    try:
        return list(_python(tree.body, 0)) if tree else []
    except RecursionError:  # nested too deeply for the parser
        return []


def _python(body: list[ast.stmt], depth: int) -> Iterator[Symbol]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            yield _symbol(
                node.lineno, f"class {node.name}({bases})" if bases else f"class {node.name}", depth
            )
            if depth < 1:
                yield from _python(node.body, depth + 1)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            yield _symbol(node.lineno, f"{word} {node.name}({ast.unparse(node.args)}){returns}", depth)
        elif depth == 0 and isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id.isupper():
                    yield _symbol(node.lineno, target.id, depth)


def _by_shape(text: str, patterns: tuple[re.Pattern[str], ...]) -> Iterator[Symbol]:
    if not patterns:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > 500:  # generated code
            continue
        for pattern in patterns:
            if match := pattern.match(line):
                yield _symbol(number, match[0].strip().rstrip("{").strip(), 1 if match[1] else 0)
                break


def _symbol(line: int, text: str, depth: int) -> Symbol:
    even = " ".join(text.split())
    return Symbol(line, even if len(even) <= MAX_SIGNATURE else even[: MAX_SIGNATURE - 1] + "…", depth)
