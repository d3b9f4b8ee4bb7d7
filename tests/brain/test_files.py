"""Facts as lines of JSON: a round trip, mistakes with their line, and all or nothing."""

from __future__ import annotations

import pytest

from podium.brain import Brain
from podium.brain.review import import_facts, read_lines, write_lines
from podium.engine.log import Store
from podium.errors import UsageError
from podium.settings import Settings
from tests.brain.facts import add_facts


def lines(*texts: str) -> bytes:
    return "\n".join(texts).encode()


WHOLE = '{"subject":"Elena","predicate":"eyes","value":"green"}'


async def test_what_is_written_is_read_as_the_same(store: Store, brain: Brain) -> None:
    facts = await add_facts(
        brain, 'Elena | says | "Nobody — 漢字"', "Marcus | status | dead", quote="a\tquote"
    )
    data = b"".join(line + b"\n" for line in write_lines(facts))
    await brain.forget()
    result = await import_facts(store, read_lines(data, "x"), settings=Settings())
    assert result.added == {"lighthouse": 2}
    assert await brain.facts(()) == facts


async def test_known_ids_are_left_as_they_are(store: Store, brain: Brain) -> None:
    facts = await add_facts(brain, "Elena | eyes | green")
    result = await import_facts(store, facts, settings=Settings())
    assert (result.added, result.known) == ({"lighthouse": 0}, 1)


async def test_facts_can_be_reported_to_another_project_and_accepted(store: Store) -> None:
    facts = read_lines(lines(WHOLE, "", WHOLE.replace("Elena", "Ida")), "x")
    await import_facts(store, facts, settings=Settings(), project="harbour", accept=True)
    assert [fact.status for fact in await store.list_facts("harbour")] == ["accepted", "accepted"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "line 2: this is not JSON"),
        ("[]", "line 2: expected `object`, got `array`"),
        ('{"subject":"x","predicate":"y"}', "line 2: object missing required field `value`"),
        (WHOLE.replace("value", "valeu"), "line 2: object contains unknown field `valeu`"),
        (WHOLE.replace('"green"', "3"), "line 2: expected `str`, got `int`"),
        (WHOLE.replace("green", "  "), "must not be blank"),
        (WHOLE.replace("}", ',"kind":"ghost"}'), "line 2: invalid enum value 'ghost'"),
        (WHOLE.replace("}", ',"id":"a b"}'), "'a b' cannot be the id"),
        ("\udcff", "not JSON"),
    ],
)
def test_a_mistake_is_reported_with_its_line(line: str, message: str) -> None:
    data = WHOLE.encode() + b"\n" + line.encode("utf-8", "surrogateescape")
    with pytest.raises(UsageError) as caught:
        read_lines(data, "facts.jsonl")
    assert message in str(caught.value)
    assert str(caught.value).startswith("facts.jsonl, line 2")


def test_a_mark_at_the_beginning_and_windows_line_ends_do_no_harm() -> None:
    data = b"\xef\xbb\xbf" + WHOLE.encode() + b"\r\n" + WHOLE.encode() + b"\r\n"
    assert len(read_lines(data, "x")) == 2
