"""Search by meaning: functions of one's own, hosted models on a real wire, their price, their failures."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from podium.brain import Brain
from podium.brain.brain import edited
from podium.brain.semantic_search import (
    COMPARED,
    checked,
    nearest,
    open_embedder,
    pack,
    promising,
    sketch,
    unpack,
)
from podium.engine.log import Store
from podium.errors import EmbeddingError, ModelUnavailableError
from podium.settings import BrainOptions, OwnPrice, ProviderOptions, Settings
from tests.brain.facts import add_facts
from tests.models.wire.answers import Answer, Raw, Refuse
from tests.models.wire.server import Wire, serving

OWN = """
SEA, FIRE = ("sea", "ocean", "water", "wave"), ("fire", "flame", "burn")

def plain(texts):
    with open("calls", "a") as file:
        file.write("x" * len(texts))
    return [[1.0 + sum(t.lower().count(w) for w in ws) * 9 for ws in (SEA, FIRE)] for t in texts]

async def waiting(texts):
    return plain(texts)

def broken(texts):
    raise RuntimeError("no luck today")

def short(texts):
    return [[1.0]] * (len(texts) - 1)
"""
FACTS = ("Elena | fears | the ocean", "Tomas | fears | an open flame")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configured(embedding: str, **more: Any) -> Settings:
    return Settings(brain=BrainOptions(embedding=embedding), retry_wait=0.001, **more)


async def first_about(brain: Brain, text: str) -> str:
    facts = await brain.search(text)
    return facts[0].subject if facts else ""


# ── functions ──


@pytest.mark.parametrize("function", ["plain", "waiting"])
async def test_a_fact_is_found_by_what_it_means(store: Store, folder: Path, function: str) -> None:
    brain = await Brain.open(store, "p", settings=configured(f"python:own.py:{function}"))
    await add_facts(brain, *FACTS)
    assert await first_about(brain, "waves") == "", "facts have no vectors yet"
    assert await brain.embed() == 2
    assert await first_about(brain, "waves") == "Elena"
    assert await first_about(brain, "it burns") == "Tomas"


async def test_only_what_lacks_a_vector_is_embedded(store: Store, folder: Path) -> None:
    brain = await Brain.open(store, "p", settings=configured("python:own.py:plain"))
    first, _ = await add_facts(brain, *FACTS)
    assert [await brain.embed(), await brain.embed()] == [2, 0]
    assert await first_about(brain, "candles that burn") == "Tomas"
    await brain.change([edited(first, "me", value="candle flames")])
    assert await brain.embed() == 1
    assert (folder / "calls").read_text() == "xxxx", "three facts and a search"


async def test_a_failing_function_costs_the_meaning_not_the_search(store: Store, folder: Path) -> None:
    good = await Brain.open(store, "p", settings=configured(""))
    await add_facts(good, *FACTS)
    brain = await Brain.open(store, "p", settings=configured("python:own.py:broken"))
    assert await first_about(brain, "Elena") == "Elena"
    assert "no luck today" in brain.warning
    with pytest.raises(EmbeddingError, match="no luck today"):
        await brain.embed()
    short = await Brain.open(store, "p", settings=configured("python:own.py:short"))
    with pytest.raises(EmbeddingError, match="1 vectors of"):
        await short.embed()


@pytest.mark.parametrize("vector", [None, [["x"]], [[float("nan")]], [[]], [[1.0], [1.0]], "text"])
def test_only_finite_numbers_are_vectors(vector: Any) -> None:
    with pytest.raises(EmbeddingError):
        checked(vector, 1, "model")


@pytest.mark.parametrize(
    "name",
    ["python:missing.py:f", "python:own.py:nothing", "anthropic:x", "nonsense", "openai:", "rehearsal"],
)
def test_a_model_that_cannot_embed_is_reported_at_once(folder: Path, name: str) -> None:
    with pytest.raises(ModelUnavailableError):
        open_embedder(configured(name))


def test_without_a_model_there_is_none() -> None:
    assert open_embedder(Settings()) is None


# ── vectors ──


def test_a_vector_comes_back_with_length_one() -> None:
    assert unpack(pack([3.0, 4.0])) == pytest.approx([0.6, 0.8])
    assert unpack(pack([0.0, 0.0])) == [0.0, 0.0]


def axis(size: int, *ones: int) -> bytes:
    return pack([1.0 if place in ones else 0.0 for place in range(size)])


@pytest.mark.parametrize("size", [3, 1536])
def test_the_nearest_come_first_and_strangers_not_at_all(size: int) -> None:
    vectors = {"same": axis(size, 0), "near": axis(size, 0, 1), "far": axis(size, 2), "odd": b"\0\0\0\0"}
    assert nearest(vectors, axis(size, 0), 10) == ["same", "near"]
    assert nearest(vectors, axis(size, 0), 1) == ["same"]
    assert nearest(vectors, b"\0\0\0\0", 10) == []


@pytest.mark.parametrize("least", [-1.0, 0.0])
def test_sketches_find_nearly_everything_that_whole_vectors_do(least: float) -> None:
    """With negative numbers, and without them."""
    chance = random.Random(7)
    known = [[max(least, chance.gauss(0, 1)) for _ in range(1536)] for _ in range(600)]
    vectors = {str(nth): pack(numbers) for nth, numbers in enumerate(known)}
    mixed = [a + b + 0.5 * c for a, b, c in zip(known[3], known[500], known[77], strict=True)]
    query = pack(mixed)
    few = promising({fact: sketch(data) for fact, data in vectors.items()}, query, 10)
    assert len(few) == COMPARED // 1536
    assert set(nearest(vectors, query, 3)) == {"3", "500", "77"}
    assert set(nearest(vectors, query, 3)) <= set(few)


def test_short_vectors_are_all_compared_and_other_lengths_never() -> None:
    sketches = {str(nth): sketch(axis(8, nth % 8)) for nth in range(900)} | {"odd": sketch(axis(64, 1))}
    assert len(promising(sketches, axis(8, 0), 10)) == 900


async def test_a_vector_that_lost_its_sketch_in_a_crash_is_found_again_and_not_paid_twice(
    store: Store, folder: Path
) -> None:
    settings = configured("python:own.py:plain")
    brain = await embedded(store, settings)
    name = f"python:{folder / 'own.py'}:plain"
    whole = await store.get_vectors("p", name)
    await store.forget_facts("p")
    await add_facts(brain, *FACTS)
    ids = [fact.id for fact in await brain.facts()]
    await store.put_vectors("p", name, dict(zip(ids, whole.values(), strict=True)))
    assert await brain.embed() == 0
    assert (await store.get_vectors("p", f"{name} (sketches)")).keys() == set(ids)


# ── hosted ──


def answer(*vectors: list[float], tokens: int | None = 7) -> Raw:
    data = [{"object": "embedding", "index": n, "embedding": v} for n, v in enumerate(vectors)]
    usage = {} if tokens is None else {"usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
    return Raw(json.dumps({"object": "list", "model": "m", "data": data[::-1], **usage}).encode())


def at(wire: Wire, name: str = "openai:text-embedding-3-small", **more: Any) -> Settings:
    return configured(name, providers={"openai": ProviderOptions(base_url=f"{wire.url}/v1")}, **more)


async def embedded(store: Store, settings: Settings) -> Brain:
    brain = await Brain.open(store, "p", settings=settings)
    await add_facts(brain, *FACTS)
    await brain.embed()
    return brain


async def test_a_hosted_model_is_asked_counted_and_priced(store: Store) -> None:
    async with serving(
        answer([1.0, 0.0], [0.0, 1.0], tokens=1_000_000), answer([0.0, 1.0], tokens=9)
    ) as wire:
        brain = await embedded(store, at(wire))
        assert [known.subject for known in await brain.search("zzz")] == ["Tomas"]
        await brain.close()
    assert [seen.path for seen in wire.requests] == ["/v1/embeddings"] * 2
    assert wire.requests[0].body["input"] == ["Elena, fears: the ocean", "Tomas, fears: an open flame"]
    (share,) = await store.list_projects()
    assert (share.embedding.calls, share.embedding.input_tokens) == (2, 1_000_009)
    assert share.embedding.usd == pytest.approx(0.02, rel=0.01)


async def test_one_s_own_price_counts_and_an_unknown_one_is_reported(store: Store) -> None:
    name = "openai-compatible:tiny"
    async with serving(answer([1.0], [1.0], tokens=500_000)) as wire:
        model = f"{name}@{wire.url}/v1"
        brain = await embedded(store, configured(model, prices={model: OwnPrice(input=4, output=0)}))
        cost = brain.search_cost("abcd")
        assert cost is not None
        assert (cost.calls, cost.usd) == (1, pytest.approx(4 * 4 / 1e6))
        await brain.close()
        (share,) = await store.list_projects()
        assert share.embedding.usd == pytest.approx(2.0)
        await store.forget_facts("p")
        brain = await embedded(store, configured(model))
        await brain.close()
        (share,) = await store.list_projects()
        assert (share.embedding.usd, share.embedding.unpriced_calls) == (0.0, 1)


async def test_what_a_server_does_not_count_is_counted_by_its_bytes(store: Store) -> None:
    async with serving(answer([1.0], [1.0], tokens=None)) as wire:
        await (await embedded(store, at(wire))).close()
    (share,) = await store.list_projects()
    assert share.embedding.input_tokens == len("Elena, fears: the ocean" + "Tomas, fears: an open flame")


async def test_a_busy_server_is_asked_again_a_refusal_is_not(store: Store) -> None:
    async with serving(Refuse(503), Refuse(429), answer([1.0], [1.0])) as wire:
        await (await embedded(store, at(wire))).close()
        assert len(wire.requests) == 3
    async with serving(Refuse(401)) as wire:
        brain = await Brain.open(store, "p", settings=at(wire))
        assert await first_about(brain, "Elena") == "Elena"
        assert "HTTP 401" in brain.warning
        assert len(wire.requests) == 1
        await brain.close()


@pytest.mark.parametrize(
    "wrong", [Raw(b"{}"), Raw(b"not json"), answer([1.0]), Raw(b'{"data": [{"index": 0}]}')]
)
async def test_nonsense_from_a_server_is_an_error_in_words(store: Store, wrong: Answer) -> None:
    async with serving(wrong) as wire:
        brain = await Brain.open(store, "p", settings=at(wire))
        await add_facts(brain, *FACTS)
        with pytest.raises(EmbeddingError):
            await brain.embed()
        assert len(await brain.search("Elena")) == 1
        await brain.close()
