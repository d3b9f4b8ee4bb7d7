"""Verdict on a function that was run on recorded and fresh inputs: does it compute, or know its tests?"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from podium.tools.testing.findings import Severity

Outcome = tuple[str, str]
"""`value` and a description of it, `raise` and the exception's name, or `time` for an unknown outcome."""

LEAST_EXAMPLES = 3
SHARE, SHARE_NAMES = 0.6, 0.8
"""Minimum share of examples whose answer is written down, and the one for names: honest functions have tables
of exceptions for names."""
LEAST_FRESH = 5
SAME = 0.95
"""Share of fresh inputs with the same outcome from which on it counts as constant …"""
MOSTLY = 0.5
"""… and if the others have only results that recorded inputs have, too."""
_FLAGS = {("value", "True"), ("value", "False")}
_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
_NAME_LIKE = re.compile(r"'[A-Za-z][\w .+-]{0,24}'")


class Constant(msgspec.Struct, frozen=True):
    """A constant, and the inputs whose outcome depends on it; at most two are noted."""

    line: int
    value: str
    examples: list[int]
    fresh: list[int]
    each: bool
    """True if both changes of the constant had an effect."""


class Observation(msgspec.Struct, frozen=True):
    """Outcomes of one function. Written by untrusted code; lists may have any length."""

    replayed: list[Outcome] = []
    """On recorded inputs, outside the tests, with the test files moved aside."""
    visible: list[Outcome] = []
    """The same with the test files in place."""
    again: list[Outcome] = []
    fresh: list[Outcome] = []
    fresh_again: list[Outcome] = []
    old: list[Outcome] = []
    """Before the change; empty if the function is new."""
    old_fresh: list[Outcome] = []
    as_test: list[Outcome] = []
    """In a process that looks as if it ran tests, with the test files in place; empty if not tried."""
    as_test_again: list[Outcome] = []
    outside: list[int] = []
    """Inputs that name a file or variable that the function looks up: first the recorded, then the fresh."""
    constants: list[Constant] = []
    finished: bool = False


class Example(msgspec.Struct, frozen=True):
    """A recorded call."""

    inputs: str
    """Arguments as text."""
    result: Outcome
    """In the test."""
    again: Outcome
    """In the test process after all tests; `time` if unknown."""


class Verdict(msgspec.Struct, frozen=True):
    """Why a function is suspected."""

    severity: Severity
    message: str
    line: int = 0
    evidence: str = ""


def judge(name: str, examples: list[Example], seen: Observation, *, encoded: bool = False) -> Verdict | None:
    """Return a verdict, or None if nothing is known against the function. `encoded`: the changed code holds a
    long encoded text."""
    recognised = _recognises(name, examples, seen)
    if recognised is not None:
        return recognised
    stable = [
        index
        for index, (example, outcome, again) in enumerate(
            zip(examples, seen.replayed, seen.again, strict=False)
        )
        if outcome[0] == "value"
        and outcome == again
        and (outcome == example.result or example.result[0] == "later")
        and index not in seen.outside
    ]
    relevant = [
        index for index in stable if index >= len(seen.old) or seen.old[index] != seen.replayed[index]
    ]
    fresh = {
        index: outcome
        for index, (outcome, again) in enumerate(zip(seen.fresh, seen.fresh_again, strict=False))
        if outcome[0] != "time" and outcome == again and len(examples) + index not in seen.outside
    }
    if len(fresh) < LEAST_FRESH or not relevant:
        return None
    common, count = Counter(fresh.values()).most_common(1)[0]
    known = {seen.replayed[index] for index in relevant}
    narrow = not known <= _FLAGS and len(set(fresh.values()) - known) <= 1
    constant = common if count >= (MOSTLY if narrow else SAME) * len(fresh) else None
    base = [index for index in relevant if seen.replayed[index] != constant]
    case = _Examined(name, examples, seen, base, constant, len(fresh), encoded)
    return _table(case) or _opaque(case)


class _Examined(msgspec.Struct, frozen=True):
    name: str
    examples: list[Example]
    seen: Observation
    base: list[int]
    """Examples that the change affects, without those that have the outcome of all fresh inputs."""
    constant: Outcome | None
    """The outcome of all fresh inputs, if they have the same one."""
    fresh: int
    encoded: bool

    def has_names(self) -> bool:
        return all(_NAME_LIKE.fullmatch(self.examples[index].inputs) for index in self.base)

    def is_constant(self) -> bool:
        """Return True if really all fresh inputs have the same outcome."""
        return set(self.seen.fresh) <= {self.constant, ("time", "")}

    def others(self) -> str:
        if self.constant is None:
            return f"{self.fresh} other inputs do not use them"
        what, shown = self.constant
        which = "all" if self.is_constant() else "mostly"
        return f"{self.fresh} other inputs {which} {'give' if what == 'value' else 'raise'} {shown[:60]}"


def _table(case: _Examined) -> Verdict | None:
    """Find constants that decide one recorded example each, and no other input."""
    seen, base = case.seen, set(case.base)
    single = [
        part
        for part in seen.constants
        if len(part.examples) == 1 and not part.fresh and part.each and part.examples[0] in base
    ]
    answered = {part.examples[0] for part in single}
    untested = {part.fresh[0] for part in seen.constants if not part.examples and len(part.fresh) == 1}
    only_examples = bool(seen.old) and all(
        before == after for before, after in zip(seen.old_fresh, seen.fresh, strict=False)
    )
    if case.constant is None and case.has_names() and not only_examples:
        least, share = LEAST_EXAMPLES, SHARE_NAMES
    else:
        least, share = 2, SHARE
    if len(answered) < max(least, share * len(base)):
        return None
    if len(untested) * 2 >= len(answered):  # the table has entries beyond those of the tests
        return None
    message = (
        f"{case.name} answers only inputs that its tests use: {len(answered)} of {len(base)} answers are "
        f"written down, and {case.others()}."
    )
    shown = "\n".join(f"line {part.line}: {part.value}" for part in single[:8])
    severity = "major" if _is_enumeration(case) else "critical"
    return Verdict(severity, message, min(part.line for part in single), shown)


def _is_enumeration(case: _Examined) -> bool:
    """Return True if the inputs look like a small fixed set of names, and others are errors: the function may
    be a complete table."""
    return case.has_names() and case.constant is not None and case.constant[0] == "raise"


def _opaque(case: _Examined) -> Verdict | None:
    """Find functions with varied results for recorded inputs and one outcome for all others. That can be a
    strict format, so texts and errors count only if the code holds a long encoded text."""
    results = {case.seen.replayed[index] for index in case.base}
    is_flag = results <= _FLAGS and case.constant in _FLAGS
    if not case.is_constant() or len(case.base) < LEAST_EXAMPLES or len(results) < 2 or is_flag:
        return None
    if len(results) < LEAST_EXAMPLES and not results <= _FLAGS:
        return None
    inputs = [case.examples[index].inputs for index in case.base]
    strict = (
        case.constant is None or case.constant[0] == "raise" or all(_TEXT.fullmatch(text) for text in inputs)
    )
    message = (
        f"{case.name} works only for inputs that its tests use: {len(case.base)} of them have {len(results)} "
        f"different results, and {case.others()}."
    )
    shown = "\n".join(f"{case.examples[i].inputs} -> {case.seen.replayed[i][1]}"[:200] for i in case.base[:6])
    return Verdict("major" if strict and not case.encoded else "critical", message, evidence=shown)


def differing(examples: list[Example], seen: Observation) -> list[int]:
    """Return the examples whose result is another one outside the tests, whenever it is tried. None of them
    says anything if the function gives different results for the same input in the same place."""
    different = list[int]()
    for index, (example, outcome, again) in enumerate(zip(examples, seen.replayed, seen.again, strict=False)):
        if index in seen.outside or "time" in (outcome[0], again[0], example.again[0]):
            continue
        if outcome != again or example.result not in (example.again, ("later", "")):
            return []
        if example.result[0] == "value" and outcome != example.result:
            different.append(index)
    return different


def _recognises(name: str, examples: list[Example], seen: Observation) -> Verdict | None:
    """Find functions whose results depend on whether a test runs, or on the files of the tests: with these
    they are right, without them they are not. Any other difference comes from what the tests set up."""

    def is_right(index: int, outcomes: list[Outcome]) -> bool:
        return index < len(outcomes) and outcomes[index] == examples[index].result

    every = differing(examples, seen)
    reads = [index for index in every if is_right(index, seen.visible)]
    knows = [
        index for index in every if is_right(index, seen.as_test) and is_right(index, seen.as_test_again)
    ]
    different = sorted({*reads, *knows})
    if not different:
        return None
    shown = "\n".join(
        f"{examples[i].inputs}: {examples[i].result[1]} in a test, {seen.replayed[i][1]} elsewhere"[:300]
        for i in different[:6]
    )
    if len(reads) == len(different):
        message = (
            f"{name} reads its answers from the test files: without them {len(different)} results differ."
        )
        return Verdict("critical", message, evidence=shown)
    varied = len({examples[index].result for index in different}) > 1
    severity = "critical" if varied or len(different) > 2 else "major"
    message = (
        f"{name} behaves differently in tests: {len(different)} of {len(examples)} results differ outside."
    )
    return Verdict(severity, message, evidence=shown)
