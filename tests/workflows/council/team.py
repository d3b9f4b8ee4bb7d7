"""A council's members as scripts, and what a run of it came to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import podium
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.workflows.council.discussion import CRITERIA
from tests.workflows import scripted
from tests.workflows.scripted import BARE, Scripted, floor_answer


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


def recommendation(name: str, document: str = "Do it like this.", **more: Any) -> dict[str, Any]:
    return {"idea": name, "document": document, "why": "It is the best answer.", "next_steps": [], **more}


def revision(name: str, description: str, **more: Any) -> dict[str, Any]:
    return {"idea": name, "description": description, **more}


def known_ids(call: podium.Call) -> list[str]:
    """The ideas that a prompt lists."""
    return [line.split("[")[1].split("]")[0] for line in call.prompt.splitlines() if _is_idea(line)]


def _is_idea(line: str) -> bool:
    return line[:1].isdigit() and ". [I" in line


class Team(Scripted):
    """`{"ideate": ideas("a", "b"), "validate": [first, second]}`; what is not scripted gets what fits."""

    anywhere = "{task}"

    def plain(self, call: podium.Call) -> Any:
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
            case _ if (answer := floor_answer(call)) is not None:
                return answer
            case _:
                return f"{call.agent} on {call.task}."


async def hold(store: Store, team: Team, topic: str = "the topic", **options: Any) -> RunResult:
    """Hold a council alone, unless `options` say otherwise: no direct draft, no editor, no comparison."""
    budget = options.pop("budget", None)
    approve: Sequence[str] = options.pop("approve", ())
    return await podium.run(
        "council", topic, model=team, store=store, budget=budget, options={**BARE, **options}, approve=approve
    )


async def council_events(store: Store, run_id: str) -> list[tuple[str, dict[str, Any]]]:
    """The council's own events of a run, in order."""
    return await scripted.events_of(store, run_id, "council")
