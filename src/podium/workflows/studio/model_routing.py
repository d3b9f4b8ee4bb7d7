"""Routing by a model: where it was asked for, and where keywords are in doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from podium.agents.ask import Run
from podium.errors import GaveUpError, StepFailedError
from podium.workflows.studio import roles
from podium.workflows.studio.contracts import Routing
from podium.workflows.studio.routing import (
    Route,
    Score,
    dependencies,
    find_department,
    route_by_keywords,
    route_fixed,
    routed,
)
from podium.workflows.studio.team import TeamSpec

UNABLE = "Unable to generate content"
ALL_ZERO = "The model finds no department relevant for this request; keywords decide."


async def choose_route(
    run: Run, team: TeamSpec, request: str, fixed: Sequence[str], router: str, names: list[str]
) -> Route:
    """Return who works on a request: as chosen by hand, by keywords, or by a model.

    With `auto`, keywords decide unless they are in doubt. A rehearsal has no model to ask: keywords decide.
    """
    if fixed:
        return route_fixed(team, fixed)
    by_words = route_by_keywords(team, request, names)
    rehearsed = bool(run.config.get("rehearsal"))
    if router == "keywords" or (router == "auto" and (rehearsed or not by_words.doubt)):
        return by_words
    try:
        answer = await _ask(run, team, request, by_words)
    except StepFailedError as error:
        if router == "model":
            raise GaveUpError(f"{UNABLE}: routing failed: {error.reason}") from error
        note = f"Routing by a model failed, so keywords decide ({by_words.doubt}): {error.reason}"
        return replace(by_words, warnings=(*by_words.warnings, note))
    return _route_of(team, answer, by_words)


async def _ask(run: Run, team: TeamSpec, request: str, by_words: Route) -> Routing:
    def check(answer: Routing) -> str:
        keys = {one.department: find_department(team, one.department) for one in answer.scores}
        unknown = ", ".join(sorted(name for name, key in keys.items() if not key))
        if unknown:
            return f"there is no department {unknown}; there are {', '.join(team.departments)}"
        twice = [key for key, n in Counter(keys[one.department] for one in answer.scores).items() if n > 1]
        return f"these departments are scored more than once: {', '.join(twice)}" if twice else ""

    offered = [
        {"key": key, "name": one.name, "skills": [spec.specialization for spec in one.specialists.values()]}
        for key, one in team.departments.items()
    ]
    signs = [
        {"department": one.department, "relevance": f"{one.relevance:g}", "reason": one.reason}
        for one in by_words.scores
        if one.relevance > 0
    ]
    return await run.ask(
        roles.ROUTER, "route", returns=Routing, check=check, request=request, departments=offered,
        signs=signs, doubt=by_words.doubt,
    )  # fmt: skip


def _route_of(team: TeamSpec, answer: Routing, by_words: Route) -> Route:
    scored = {find_department(team, one.department): one for one in answer.scores}
    if not any(one.relevance > 0 for one in scored.values()):
        return replace(by_words, warnings=(*by_words.warnings, ALL_ZERO))
    scores = [
        Score(key, scored[key].relevance, one.priority, scored[key].reason or "scored by the model")
        if key in scored
        else Score(key, 0.0, one.priority, "not scored by the model")
        for key, one in team.departments.items()
    ]
    route = routed(team, scores, dependencies(team))
    parts = {key: one.part for key, one in scored.items() if one.part}
    return replace(route, router="model", doubt=by_words.doubt, parts=parts)
