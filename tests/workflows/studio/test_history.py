"""What a studio learns from its log: success rates, thresholds with their evidence, who is good at what."""

from __future__ import annotations

from typing import Any

import podium
from podium.engine.log import Store
from podium.workflows.studio.history import learn, read_past
from podium.workflows.studio.team import load_team
from tests.workflows.studio.crew import Crew, RunEvents, brief, graded, make, specialist

HERO = {"departments": "character", "specialists": "always"}
TEAM = load_team()
APPEARANCE = "character-appearance-specialist"


def crew_with(score: float, *skills: str) -> Crew:
    return Crew({"*/brief": brief(*(skills or ("appearance", "personality"))), "*/grade": graded(score)})


async def test_the_log_holds_the_score_history_of_every_agent(store: Store) -> None:
    for score in (70, 90):
        await make(store, crew_with(score), "a hero", **HERO)
    past = await read_past(store, "film", rehearsals=False)
    assert sorted(review.score for review in past if review.agent_id == APPEARANCE) == [70, 90]
    learnt = learn(TEAM, past, "a hero")[APPEARANCE]
    assert (learnt.results, learnt.mean, learnt.acceptance, learnt.suggested) == (2, 80, 1.0, None)


async def test_rehearsals_forks_and_other_teams_teach_nothing(store: Store) -> None:
    await podium.run("studio", "a hero", model="rehearsal", store=store, options=HERO)
    assert await read_past(store, "film", rehearsals=False) == []
    assert await read_past(store, "film", rehearsals=True) != []
    real = await make(store, crew_with(90), "a hero", **HERO)
    assert len(await read_past(store, "film", rehearsals=False)) == 2
    assert await read_past(store, "software", rehearsals=False) == []
    handle = await podium.fork(real.run_id, at="character/synthesize", model=crew_with(90), store=store)
    await handle.result()
    assert len(await read_past(store, "film", rehearsals=False)) == 2, "what was inherited is counted once"


async def test_adaptive_uses_the_learnt_threshold_within_15(store: Store) -> None:
    for _ in range(5):
        await make(store, crew_with(95), "a hero", **HERO)
    plain = await make(store, crew_with(79), "a hero", **HERO)
    assert specialist(plain, "character", APPEARANCE)["threshold"] == 65
    crew = crew_with(79)
    adapted = await make(store, crew, "a hero", adaptive=True, **HERO)
    appearance = specialist(adapted, "character", APPEARANCE)
    assert (appearance["threshold"], appearance["reviewStatus"]) == (80, "rejected"), "65 and at most 15 more"
    assert "the threshold is 80" in crew.asked("character/appearance/attempt#2/execute")[0].prompt
    log = await RunEvents.of(store, adapted.run_id)
    (started,) = log.of_type("specialist_started", specialist="appearance")
    assert (started["threshold"], started["configured"]) == (80, 65)


async def test_specialists_that_did_well_on_similar_requests_are_recommended(store: Store) -> None:
    def only(good: str) -> dict[str, Any]:
        script: dict[str, Any] = {"*/brief": brief(), "*/grade": graded(20)}
        for at in ("attempt", "attempt#2", "attempt#3", "attempt#4"):
            script[f"character/{good}/{at}/grade"] = graded(95)
        return script

    pirates, sailors = "an old pirate of the northern seas", "a baker in the quiet village"
    await make(store, Crew({**only("makeup"), "*/brief": brief("makeup", "voice")}), pirates, **HERO)
    await make(store, Crew({**only("voice"), "*/brief": brief("makeup", "voice")}), sailors, **HERO)
    for request, wanted, other in ((pirates, "makeup", "voice"), (sailors, "voice", "makeup")):
        learnt = learn(TEAM, await read_past(store, "film", rehearsals=False), request)
        best, worse = (learnt[f"character-{key}-specialist"] for key in (wanted, other))
        assert (best.success, worse.success, best.similar) == (1.0, 0.0, 1)
        crew = Crew({"*/brief": brief()})
        await make(store, crew, request, **HERO)
        names = {call.path.split("/")[1] for call in crew.asked_to("execute")}
        assert wanted in names
        assert other not in names


async def test_what_was_learnt_is_recorded_so_that_a_replay_sees_the_same(store: Store) -> None:
    first = await make(store, crew_with(90), "a hero", **HERO)
    for _ in range(6):
        await make(store, crew_with(20), "a hero", **HERO)
    replayed = await podium.replay(first.run_id, store=store)
    assert replayed.output == first.output
