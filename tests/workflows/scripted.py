"""A model that answers by script, and the events that a workflow told: for the tests of every workflow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from inspect import isawaitable
from typing import Any, ClassVar, Self, cast

import podium
from podium.engine.codec import decode
from podium.engine.log import Store

Answer = Any | Callable[[podium.Call], Any]


BARE = {"floor": False, "editor": False}
"""Options of an orchestration alone: no direct draft, no editor, no comparison."""


def floor_answer(call: podium.Call) -> Any:
    """Return a plain answer of the drafter, the editor or the judge; None for all others."""
    if call.task == "pick":
        return {"why": "it says more", "best": 1}
    scores = {"complete": 7, "correct": 7, "usable": 7, "fitting": 7}
    return {
        "drafter": {"points": ["it is there"], "document": "# A draft\n\nDirect."},
        "editor": {"parts": [{"part": "all of it", "met": True}]},
        "judge": {"why": "no difference", "a": scores, "b": scores, "better": "equal"},
    }.get(call.role)


class Scripted:
    """A model that answers by where it is asked: `{"story/brief": …, "*/grade": [first, second]}`.

    The path of the call is stronger than its task. A list is given one by one, its last entry for ever; a
    function is called with the call, and awaited if it has to be; an exception is raised; what is not
    scripted gets `plain`, which each workflow writes for its own tasks.
    """

    anywhere: ClassVar[str] = "*/{task}"
    """How a script names a task wherever it is asked; where no task is a path by itself, `{task}` will do."""

    def __init__(self, script: Mapping[str, Answer] | None = None) -> None:
        self.script = dict(script or {})
        self.calls: list[podium.Call] = []
        self._given: Counter[str] = Counter()

    async def __call__(self, call: podium.Call) -> Any:
        self.calls.append(call)
        answer = self._scripted(call)
        if callable(answer):
            answer = answer(call)
        if isawaitable(answer):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return self.plain(call) if answer is None else answer

    def _scripted(self, call: podium.Call) -> Any:
        rule = call.path if call.path in self.script else self.anywhere.format(task=call.task)
        answer: Any = self.script.get(rule)
        if not isinstance(answer, list):
            return answer
        answers = cast("list[Any]", answer)
        self._given[rule] += 1
        return answers[min(self._given[rule], len(answers)) - 1]

    def plain(self, call: podium.Call) -> Any:
        """What is answered where the script says nothing."""
        raise AssertionError(f"nothing is scripted for {call.path}")

    @property
    def paths(self) -> list[str]:
        return [call.path for call in self.calls]

    @property
    def tasks(self) -> list[str]:
        return [call.task for call in self.calls]

    def asked(self, path: str) -> list[podium.Call]:
        """The calls at exactly this path."""
        return [call for call in self.calls if call.path == path]

    def asked_to(self, task: str) -> list[podium.Call]:
        """The calls with this task, wherever they were made."""
        return [call for call in self.calls if call.task == task]


async def events_of(store: Store, run_id: str, namespace: str) -> list[tuple[str, dict[str, Any]]]:
    """A workflow's own events of a run, in order, without the namespace."""
    prefix = f"{namespace}."
    rows = await store.read(run_id)
    return [(row.type.removeprefix(prefix), decode(row.data)) for row in rows if row.type.startswith(prefix)]


class RunEvents:
    """A workflow's own events of a run, in order, to be asked about."""

    namespace: ClassVar[str]

    def __init__(self, rows: list[tuple[str, dict[str, Any]]]) -> None:
        self.rows = rows

    @classmethod
    async def of(cls, store: Store, run_id: str) -> Self:
        return cls(await events_of(store, run_id, cls.namespace))

    def of_type(self, kind: str, **fields: Any) -> list[dict[str, Any]]:
        return [
            data
            for name, data in self.rows
            if name == kind and all(data.get(key) == value for key, value in fields.items())
        ]

    def index(self, kind: str, **fields: Any) -> int:
        wanted = self.of_type(kind, **fields)
        assert wanted, f"no {kind} with {fields}"
        return self.rows.index((kind, wanted[0]))
