"""Functions as models: what is accepted, what is refused, and how failures are told."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest

from podium.errors import ModelFailedError, ModelUnavailableError
from podium.models.local import FunctionModel, load_function
from podium.models.model import Call

CALL = Call(
    run_id="r", workflow="w", path="draft", agent="a", role="", task="draft", system="s", prompt="four"
)


async def top_level(call: Call) -> str:
    return f"{call.task}!"


class Point(msgspec.Struct):
    x: int


class Named(pydantic.BaseModel):
    first_name: str = pydantic.Field(alias="firstName")


@dataclass
class Pair:
    a: int


async def answer_of(value: Any) -> str:
    async def answer(call: Call) -> Any:
        return value

    return (await FunctionModel(answer).complete(CALL)).text


async def test_text_is_text() -> None:
    assert await answer_of("hello") == "hello"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (Point(1), '{"x":1}'),
        (Pair(2), '{"a":2}'),
        (Named(firstName="Ada"), '{"firstName":"Ada"}'),
    ],
)
async def test_data_becomes_json(value: Any, text: str) -> None:
    assert await answer_of(value) == text


@pytest.mark.parametrize("value", [None, 3, ["a"], b"bytes", object(), Point])
async def test_anything_else_is_a_failed_call(value: Any) -> None:
    with pytest.raises(ModelFailedError, match="not a string or a dictionary") as caught:
        await answer_of(value)
    assert caught.value.path == "draft"


async def test_an_exception_is_a_failed_call_that_names_it() -> None:
    async def broken(call: Call) -> str:
        raise KeyError("colour")

    with pytest.raises(ModelFailedError) as caught:
        await FunctionModel(broken, "mine").complete(CALL)
    assert caught.value.error_type == "KeyError"
    assert caught.value.reason == "KeyError: 'colour'"
    assert caught.value.details == {"model": "mine"}
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("raised", [SystemExit(3), asyncio.CancelledError("inner")])
async def test_not_even_an_exit_of_the_function_ends_the_run(raised: BaseException) -> None:
    async def leaving(call: Call) -> str:
        raise raised

    with pytest.raises(ModelFailedError, match=type(raised).__name__):
        await FunctionModel(leaving).complete(CALL)


async def test_a_cancel_from_outside_stays_a_cancel() -> None:
    entered = asyncio.Event()

    async def waiting(call: Call) -> str:
        entered.set()
        await asyncio.Event().wait()
        return ""

    task = asyncio.create_task(FunctionModel(waiting).complete(CALL))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_usage_is_estimated_and_free() -> None:
    model = FunctionModel(top_level)
    reply = await model.complete(CALL)
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (2, 2)
    assert model.price.kind == "free"
    assert not model.rehearsal
    assert model.worst_case(CALL).input_tokens == 5


async def test_objects_and_partials_are_functions_too() -> None:
    class Parrot:
        async def __call__(self, call: Call) -> str:
            return call.prompt

    async def prefixed(prefix: str, call: Call) -> str:
        return prefix + call.prompt

    assert (await FunctionModel(Parrot()).complete(CALL)).text == "four"
    assert (await FunctionModel(functools.partial(prefixed, ">")).complete(CALL)).text == ">four"


def test_a_function_of_a_file_can_be_opened_again_by_its_name() -> None:
    name = FunctionModel(top_level).name
    assert name == f"python:{Path(__file__).resolve()}:top_level"
    assert load_function(name).name == name


def test_a_local_function_has_a_name_that_says_so() -> None:
    async def local(call: Call) -> str:
        return ""

    assert FunctionModel(local).name.startswith("python:test_a_local")


# ── from a file ──


async def test_a_file_is_found_from_the_current_folder_and_recorded_with_its_whole_path(
    tmp_path: Path,
) -> None:
    (tmp_path / "beside.py").write_text("WORD = 'imported'\n")
    (tmp_path / "mine.py").write_text("import beside\nasync def answer(call):\n    return beside.WORD\n")
    with contextlib.chdir(tmp_path):
        model = load_function("python:mine.py:answer")
    assert model.name == f"python:{tmp_path}/mine.py:answer"
    assert (await model.complete(CALL)).text == "imported"


async def test_a_file_is_imported_once_until_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "counting.py"
    source = "count = 0\nasync def answer(call):\n    global count\n    count += 1\n    return str(count)\n"
    file.write_text(source)
    first = load_function(f"python:{file}:answer")
    assert (await first.complete(CALL)).text == "1"
    assert (await load_function(f"python:{file}:answer").complete(CALL)).text == "2"
    file.write_text(source.replace("count += 1", "count += 7"))
    os.utime(file, ns=(1, 1))
    assert (await load_function(f"python:{file}:answer").complete(CALL)).text == "7"


@pytest.mark.parametrize(
    ("name", "source", "message", "hint"),
    [
        ("answer", "async def other(call): ...\n", "holds no function answer", "other"),
        ("answer", "x = 1\n", "holds no function answer", "async def"),
        ("answer", "from asyncio import sleep\n", "holds no function answer", "no async function"),
        ("answer", "def answer(call): ...\n", "not an async function", "async def"),
        ("answer", "answer = 3\n", "not an async function", "async def"),
        ("answer", "async def answer(): ...\n", "one argument", "async def"),
        ("answer", "async def answer(a, b): ...\n", "one argument", "async def"),
        ("answer", "import no_such_module\n", "cannot be imported: ModuleNotFoundError", "python "),
        ("answer", "async def answer(call:\n", "cannot be imported: SyntaxError", "python "),
        ("answer", "raise RuntimeError('boom')\n", "cannot be imported: RuntimeError: boom", "python "),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_one_sentence(
    tmp_path: Path, name: str, source: str, message: str, hint: str
) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(source)
    with pytest.raises(ModelUnavailableError, match=message) as caught:
        load_function(f"python:{file}:{name}")
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", ["python:", "python:file.py", "python:file.py:", "python::answer"])
def test_a_name_without_a_file_or_a_function_is_refused(name: str) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        load_function(name)
    assert caught.value.hint.startswith("Write it as python:FILE.py:function.")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=r"There is no file .*gone\.py"):
        load_function(f"python:{tmp_path}/gone.py:answer")
