"""A council's members as scripts, and what a run of it came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import podium
from podium.engine.codec import decode
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.workflows.council.discussion import CRITERIA

Answer = Any | Callable[[podium.Call], Any]


def idea(title: str, description: str = "", **more: Any) -> dict[str, Any]:
    return {"title": title, "description": description or f"{title} in two sentences.", **more}


def ideas(*titles: str) -> dict[str, Any]:
    return {"ideas": [idea(title) for title in titles]}


def evaluation(name: str, score: Any = 7, **more: Any) -> dict[str, Any]:
    many: dict[str, Any] = dict.fromkeys(CRITERIA, score)
    if isinstance(score, dict):
        many = cast("dict[str, Any]", score)
    return {"idea": name, **many, "pros": ["good"], "cons": ["bad"], "feedback": "work on it", **more}


def scores(**by_id: Any) -> dict[str, Any]:
    return {"evaluations": [evaluation(name, score) for name, score in by_id.items()]}


def selection(choice: str, reasoning: str = "because it is the best") -> dict[str, Any]:
    return {"choice": choice, "reasoning": reasoning}


def known_ids(call: podium.Call) -> list[str]:
    """The ideas that a prompt lists."""
    return [line.split("[")[1].split("]")[0] for line in call.prompt.splitlines() if _is_idea(line)]


def _is_idea(line: str) -> bool:
    return line[:1].isdigit() and ". [I" in line


class Team:
    """A model that answers by task: `{"ideate": ideas("a", "b"), "validate": [first, second]}`.

    A path is stronger than its task. A list is given one by one, its last entry for ever; an exception is
    raised; what is not scripted gets a plain answer that fits.
    """

    def __init__(self, script: Mapping[str, Answer] | None = None) -> None:
        self.script = dict(script or {})
        self.calls: list[podium.Call] = []
        self._given: Counter[str] = Counter()

    async def __call__(self, call: podium.Call) -> Any:
        self.calls.append(call)
        key = call.path if call.path in self.script else call.task
        answer: Any = self.script.get(key)
        if isinstance(answer, list):
            answers = cast("list[Any]", answer)
            nth = min(self._given[key], len(answers) - 1)
            self._given[key] += 1
            answer = answers[nth]
        if callable(answer):
            answer = answer(call)
        if isinstance(answer, Exception):
            raise answer
        return self._plain(call) if answer is None else answer

    def _plain(self, call: podium.Call) -> Any:
        known = known_ids(call)
        match call.task:
            case "ideate":
                return ideas(*(f"Idea {len(known) + nth}" for nth in range(1, 6)))
            case "validate":
                return scores(**{name: 8 - nth * 0.1 for nth, name in enumerate(known)})
            case "select":
                return selection(known[0])
            case "research":
                return {"text": "What is known.", "evidence": [{"claim": "A fact"}]}
            case "critique":
                return {"text": "What could go wrong.", "risks": [], "open_questions": []}
            case "implement":
                return {"text": "How to do it.", "next_steps": []}
            case "visualize":
                return "<h1>The page</h1><p>All about it.</p>"
            case _:
                return f"{call.agent} on {call.task}."

    @property
    def tasks(self) -> list[str]:
        return [call.task for call in self.calls]

    @property
    def paths(self) -> list[str]:
        return [call.path for call in self.calls]

    def asked(self, task: str) -> list[podium.Call]:
        return [call for call in self.calls if call.task == task]


async def hold(store: Store, team: Team, topic: str = "the topic", **options: Any) -> RunResult:
    budget = options.pop("budget", None)
    approve: Sequence[str] = options.pop("approve", ())
    return await podium.run(
        "council", topic, model=team, store=store, budget=budget, options=options, approve=approve
    )


async def told(store: Store, run_id: str) -> list[tuple[str, dict[str, Any]]]:
    """The council's own events of a run, in order."""
    rows = await store.read(run_id)
    return [(row.type[8:], decode(row.data)) for row in rows if row.type.startswith("council.")]
