"""Tools: schemas from signatures, validation of arguments, and what a bad definition is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import podium
from podium.agents.tools import Tool, ToolContext, equip, tool
from podium.errors import UsageError


class Seat(BaseModel):
    row: int
    title: str = ""


@dataclass
class Place:
    name: str


@tool
async def book(
    ctx: ToolContext,
    flight: str,
    seats: int = 1,
    json: Annotated[list[str], Field(description="Remarks.")] = [],  # noqa: B006
    seat: Seat | None = None,
    place: Place | None = None,
    kind: Literal["window", "aisle"] = "aisle",
) -> str:
    """Book seats on a flight.

    Refuses flights that are full.

    Args:
        flight: The number,
            as on the ticket.
        seats (int): How many.

    Returns:
        Nothing of use.
    """
    return f"{flight} {seats} {json} {seat} {place} {kind} {ctx.call_id}"


def test_the_schema_comes_from_the_signature_and_the_docstring() -> None:
    assert book.name == "book"
    assert book.description == "Book seats on a flight.\n\nRefuses flights that are full."
    properties = book.schema["properties"]
    assert list(properties) == ["flight", "seats", "json", "seat", "place", "kind"]
    assert properties["flight"] == {"description": "The number, as on the ticket.", "type": "string"}
    assert properties["seats"] == {"default": 1, "description": "How many.", "type": "integer"}
    assert properties["json"]["description"] == "Remarks."
    assert properties["kind"]["enum"] == ["window", "aisle"]
    assert book.schema["required"] == ["flight"]
    assert book.schema["additionalProperties"] is False
    assert "title" in book.schema["$defs"]["Seat"]["properties"], "a field of that name is no title"
    assert "title" not in book.schema["$defs"]["Seat"]


def test_arguments_get_the_types_of_the_signature() -> None:
    found = book.validate({"flight": "LH1", "seat": {"row": 3}, "place": {"name": "Rome"}})
    assert found.values == {"flight": "LH1", "seat": Seat(row=3), "place": Place("Rome")}
    assert found.defaults == {"seats": 1, "kind": "aisle", "json": []}
    assert book.validate({"flight": "LH1", "seats": "2"}).values["seats"] == 2, "a number as text is a number"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "`flight` is missing"),
        ({"flight": 3}, "`flight` must be a valid string"),
        ({"flight": "a", "seats": "many"}, "`seats` must be a valid integer"),
        ({"flight": "a", "seats": 1.5}, "`seats`"),
        ({"flight": "a", "wings": 2}, "`wings` is not a known field"),
        ({"flight": "a", "kind": "floor"}, "`kind`"),
        ({"flight": "a", "seat": {"row": "x"}}, "seat"),
        ("LH1", "not a JSON object"),
        (None, "not a JSON object"),
        ([1], "not a JSON object"),
    ],
)
def test_bad_arguments_are_reported_with_what_the_tool_takes(given: Any, said: str) -> None:
    found = book.validate(given)
    assert said in found.error
    assert found.values == {}


RAW: dict[str, Any] = {
    "type": "object",
    "properties": {"pattern": {"type": "integer"}, "text": {"type": "string", "pattern": "^(a+)+$"}},
    "required": ["pattern"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "given", "said"),
    [
        (RAW, {"pattern": 1, "text": "a" * 50 + "!"}, ""),  # a regular expression of a server is not executed
        (RAW, {"pattern": "1"}, "is not of type 'integer'"),
        (RAW, {}, "'pattern' is a required property"),
        (RAW, {"pattern": 1, "more": 1}, "more"),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, {}, "schema is invalid"),
        ({"type": "dict"}, {}, "schema is invalid"),
    ],
)
def test_a_json_schema_is_checked_without_regular_expressions_and_addresses(
    schema: dict[str, Any], given: dict[str, Any], said: str
) -> None:
    found = Tool("raw", "", schema, lambda: None).validate(given)
    assert said in found.error if said else found.values == given


def test_a_definition_that_cannot_work_is_refused_at_once() -> None:
    def spread(*words: str) -> str:
        return ""

    def odd(thing: object) -> str:
        return ""

    class Strange:
        pass

    def strange(thing: Strange) -> str:
        return ""

    strange.__annotations__["thing"] = Strange
    with pytest.raises(UsageError, match="cannot fill"):
        tool(spread)
    with pytest.raises(UsageError, match="no JSON schema"):
        tool(strange)
    with pytest.raises(UsageError, match="cannot be used"):
        tool(name="two words")(odd)
    with pytest.raises(UsageError, match="occurs twice"):
        equip([book, book])
    with pytest.raises(UsageError, match="is reserved"):
        equip([tool(name="answer")(odd)])


def test_plain_functions_and_agents_are_tools_too() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    critic = podium.Agent("Nora Lind", "critic").as_tool()
    assert list(equip([add, critic])) == ["add", "Nora_Lind"]
    assert critic.description == "Ask Nora Lind, critic."
    assert list(critic.schema["properties"]) == ["request"]
    assert tool(add)(2, 3) == 5


def factory_default(words: list[str] = Field(default_factory=list)) -> None:  # noqa: B008
    """A pydantic default."""


def annotated_factory(words: Annotated[list[str], Field(default_factory=list)]) -> None:
    """A pydantic default without one of Python."""


@pytest.mark.parametrize("function", [factory_default, annotated_factory])
def test_defaults_of_pydantic_are_passed_to_the_function(function: Any) -> None:
    made = tool(function)
    assert "required" not in made.schema
    first, second = made.validate({}), made.validate({})
    assert first.values == second.values == {"words": []}
    assert first.values["words"] is not second.values["words"]


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": "3"},
        {"cost": 0.02},
        {"cost": podium.Charge(usd=-1)},
        {"max_parallel": -1},
        {"once": "maybe"},
        {"composite": True, "cost": podium.Charge(usd=1)},
        {"composite": True, "max_parallel": 1},
    ],
    ids=str,
)
def test_an_option_that_could_not_hold_is_refused(options: dict[str, Any]) -> None:
    def look(word: str) -> None:
        """Look."""

    with pytest.raises(UsageError, match="The tool look"):
        tool(**options)(look)


def test_a_context_that_can_only_be_passed_by_position_is_refused() -> None:
    def look(ctx: podium.ToolContext, /, word: str) -> None:
        """Look."""

    with pytest.raises(UsageError, match="ctx"):
        tool(look)
