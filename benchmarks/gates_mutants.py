"""Broken variants of a solution, by one change to its syntax tree."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from typing import Any

COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Div: ast.Mult,
}


def mutants(source: str, entry: str, count: int) -> list[str]:
    """Return up to `count` mutants of a function, always the same ones."""
    tree = ast.parse(source)
    function = next(node for node in ast.walk(tree) if getattr(node, "name", "") == entry)
    places = [
        (index, kind) for index, node in enumerate(ast.walk(function)) for kind in _kinds(node)
    ]  # indexes are stable in a copy
    random.Random(entry).shuffle(places)
    texts = list[str]()
    for index, kind in places:
        twin = copy.deepcopy(tree)
        again = next(node for node in ast.walk(twin) if getattr(node, "name", "") == entry)
        _change(list(ast.walk(again))[index], kind)
        text = ast.unparse(ast.fix_missing_locations(twin)) + "\n"
        if text not in texts:
            texts.append(text)
        if len(texts) == count:
            break
    return texts


def _kinds(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARE:
        yield "compare"
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield "arithmetic"
    if isinstance(node, ast.BoolOp):
        yield "boolean"
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield "constant"
    if isinstance(node, ast.Return) and node.value is not None:
        yield "return"


def _change(node: Any, kind: str) -> None:
    if kind == "compare":
        node.ops[0] = COMPARE[type(node.ops[0])]()
    elif kind == "arithmetic":
        node.op = ARITHMETIC[type(node.op)]()
    elif kind == "boolean":
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif kind == "constant":
        node.value += 1
    else:
        node.value = ast.Constant(None)
