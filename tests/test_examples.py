"""The example workflows, run as a user runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import podium
from podium.settings import Settings

EXAMPLES = Path(__file__).parents[1] / "examples"
SETTINGS = Settings.load(cwd="/", env={})


async def run(example: str, request: str, store: Path, **kwargs: Any) -> podium.RunResult:
    return await podium.run(str(EXAMPLES / example), request, store=str(store), settings=SETTINGS, **kwargs)


async def test_the_chain_hands_each_result_to_the_next(tmp_path: Path) -> None:
    prompts: dict[str, str] = {}

    async def model(call: Any) -> str:
        prompts[call.task] = call.prompt
        return f"<{call.task}>"

    result = await run("chain.py", "lighthouses", tmp_path / "s.sqlite", model=model)
    assert result.output == "<polish>"
    assert "lighthouses" in prompts["research"]
    assert "<research>" in prompts["draft"]
    assert "<draft>" in prompts["polish"]
    assert [made.name for made in result.artifacts] == ["article.md"]


async def test_the_fan_out_drops_what_does_not_pass_its_gate(tmp_path: Path) -> None:
    scores = iter([90, 40, 70])

    async def model(call: Any) -> Any:
        if call.task == "pitch":
            return {"title": f"by {call.agent}", "idea": "an idea"}
        if call.task == "grade":
            return {"score": next(scores), "reason": "because"}
        return "take the first"

    result = await run("fanout.py", "a game", tmp_path / "s.sqlite", model=model, concurrency=1)
    assert result.status == "completed"
    assert result.quality == 90
    assert "| 90 |" in result.output
    assert "| 40 |" not in result.output
    assert "2 passed, 1 dropped." in result.output


async def test_a_writer_that_fails_is_a_warning_and_the_others_go_on(tmp_path: Path) -> None:
    async def model(call: Any) -> Any:
        if call.agent == "practical writer":
            raise ConnectionError("unplugged")
        return {"title": "t", "idea": "i", "score": 80, "reason": "r"} if call.schema else "fine"

    result = await run("fanout.py", "a game", tmp_path / "s.sqlite", model=model)
    assert result.status == "completed"
    assert len(result.warnings) == 1
    assert "practical" in result.warnings[0]
    assert "unplugged" in result.warnings[0]


async def test_nothing_passes_is_a_partial_result(tmp_path: Path) -> None:
    async def model(call: Any) -> Any:
        return {"title": "t", "idea": "i", "score": 5, "reason": "r"} if call.schema else "fine"

    result = await run("fanout.py", "a game", tmp_path / "s.sqlite", model=model)
    assert (result.status, result.stop_reason, result.exit_code) == ("partial", "no pitch passed", 3)


async def test_the_approval_waits_revises_and_sends(tmp_path: Path) -> None:
    store = str(tmp_path / "s.sqlite")

    async def model(call: Any) -> str:
        return "short" if "shorter" in call.prompt else "a long draft"

    result = await run("approval.py", "an invitation", tmp_path / "s.sqlite", model=model)
    assert result.status == "waiting"
    for answer, status in (("shorter, please", "waiting"), ("approve", "completed")):
        await podium.answer(result.run_id, answer, store=store, settings=SETTINGS)
        result = await (
            await podium.resume(result.run_id, store=store, model=model, settings=SETTINGS)
        ).result()
        assert result.status == status
    assert result.output == "short"


async def test_the_rehearsal_of_every_example_mentions_the_request(tmp_path: Path) -> None:
    for example in ("chain.py", "fanout.py", "approval.py"):
        result = await run(example, "Repair an old wooden boat", tmp_path / "s.sqlite", model="rehearsal")
        assert result.rehearsal, example
        assert result.status in {"completed", "waiting"}, result.error
        shown = str(result.output) + "".join(question.question for question in result.questions.values())
        assert "boat" in shown.lower() or "wooden" in shown.lower(), (example, shown)
        assert "rehearsal" in shown.lower()


async def test_the_travel_agent_books_what_a_person_approves(tmp_path: Path) -> None:
    async def model(call: Any) -> Any:
        results = [message.text for message in call.messages if message.role == "tool"]
        if not results:
            return [podium.ToolCall("find_flights", {"city": "Lisbon"})]
        if len(results) == 1:
            return [podium.ToolCall("book", {"flight": results[0][2:5], "seats": 2})]
        return results[1]

    store = tmp_path / "s.sqlite"
    waiting = await run("travel.py", "two seats", store, model=model)
    assert waiting.status == "waiting"
    await podium.answer(waiting.run_id, "approve", store=str(store), settings=SETTINGS)
    handle = await podium.resume(waiting.run_id, store=str(store), settings=SETTINGS, model=model)
    assert (await handle.result()).output == "2 seats on LH1 for 240 EUR"
