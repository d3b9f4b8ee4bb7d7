"""Calls of MCP tools during which the server may ask for input: a form for a person, or a model's reply."""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mcp_types import (
    INVALID_REQUEST,
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitResult,
    ErrorData,
    ImageContent,
)

from podium.agents.conversation import ToolOutcome
from podium.agents.files import IMAGES
from podium.models.messages import FilePart
from podium.settings import McpServer
from podium.tools.mcp.connection import Connection, text_of
from podium.tools.mcp.input_requests import Answered, CallRound, InputRequest
from podium.tools.mcp.session import Session
from podium.tools.tool import MAX_TEXT, ToolError, bounded, untrusted

UNLIMITED = 7 * 86_400.0
"""Seconds of the SDK's own time-out. Ours does not count the time that a person takes."""
_LIVE: contextvars.ContextVar[LiveCall] = contextvars.ContextVar("live MCP call")

PutBlob = Callable[[bytes], str]


class Pending(NamedTuple):
    """A request of the server that waits for its answer."""

    request: InputRequest
    answer: asyncio.Future[Any]


class LiveCall:
    """One call under way. The server's requests and its result come through one queue."""

    def __init__(
        self, session: Session, name: str, args: dict[str, Any], answered: Sequence[Answered]
    ) -> None:
        self.session = session
        self.open_requests = 0
        self._pending: Pending | None = None
        self._answered = list(answered)
        """Answers of an earlier attempt, which the same requests get again."""
        self._arrived: asyncio.Queue[Pending | None] = asyncio.Queue()
        context = contextvars.Context()  # a fresh one, because the call may outlive the step that starts it
        context.run(_LIVE.set, self)
        self._task = asyncio.create_task(self._run(name, args), context=context)
        self._task.add_done_callback(lambda task: self._arrived.put_nowait(None))

    async def _run(self, name: str, args: dict[str, Any]) -> CallToolResult:
        client = await self.session.client()
        return await client.call_tool(name, args, read_timeout_seconds=UNLIMITED)

    async def ask(self, params: Any) -> Any:
        """Pass on a request of the server; return the answer in the form of the SDK."""
        request = _request(params)
        for known in self._answered:
            if known.request == request:
                self._answered.remove(known)
                return _response(params, known.response)
        pending = Pending(request, asyncio.get_running_loop().create_future())
        self._arrived.put_nowait(pending)
        self.open_requests += 1
        try:
            return _response(params, await pending.answer)
        finally:
            self.open_requests -= 1

    def answer(self, response: dict[str, Any]) -> None:
        """Answer the request that `advance` returned."""
        if self._pending is not None and not self._pending.answer.done():
            self._pending.answer.set_result(response)
        self._pending = None

    async def advance(self) -> CallToolResult | InputRequest:
        """Wait for the result or for the next request of the server."""
        self._pending = await self._arrived.get()
        return self._task.result() if self._pending is None else self._pending.request

    def has_answered(self, request: InputRequest) -> bool:
        return any(known.request == request for known in self._answered)

    @property
    def is_over(self) -> bool:
        return self._task.done()

    def cancel(self) -> None:
        self._task.cancel()
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())


class InteractiveConnection(Connection):
    """A connection whose server may sample and elicit during calls."""

    def __init__(self, name: str, server: McpServer) -> None:
        super().__init__(name, server)
        self._live: dict[str, LiveCall] = {}
        """Calls under way, by call id, oldest first."""

    def _new_session(self) -> Session:
        return Session(self._server, self._asked)

    async def close(self) -> None:
        for call_id in list(self._live):
            self.drop(call_id)
        await super().close()

    async def _asked(self, params: Any) -> Any:
        """Answer a request of the server. Older protocols do not say to which call it belongs: then it goes
        to one that has answered it before, or to the oldest one with the fewest open requests."""
        live, request = _LIVE.get(None), _request(params)
        if live is None:
            calls = [call for call in self._live.values() if not call.is_over]
            best = sorted(calls, key=lambda call: (not call.has_answered(request), call.open_requests))
            live = best[0] if best else None
        if live is None:
            return ErrorData(code=INVALID_REQUEST, message="No tool call is under way.")
        return await live.ask(params)

    async def round(
        self, call_id: str, name: str, args: dict[str, Any], answered: Sequence[Answered], put_blob: PutBlob
    ) -> CallRound:
        """Start a call, or go on with it after its last request was answered, until the server returns a
        result or asks again. A call that is not under way any more, as after a restart, begins anew; requests
        that were answered before get the same answers."""
        full = f"{self.name}.{name}"
        try:
            arrived = await self._arrival(call_id, name, args, answered)
        except ToolError as error:
            return CallRound(outcome=ToolOutcome(untrusted(bounded(str(error), 1_000), full), failed=True))
        if isinstance(arrived, InputRequest):
            return CallRound(request=arrived)
        return CallRound(outcome=_outcome(arrived, full, put_blob))

    async def _arrival(
        self, call_id: str, name: str, args: dict[str, Any], answered: Sequence[Answered]
    ) -> CallToolResult | InputRequest:
        session = await self._connected()
        live = self._live.get(call_id)
        if live is None or live.session is not session:
            live = self._live[call_id] = LiveCall(session, name, args, answered)
        elif answered:
            live.answer(answered[-1].response)
        try:
            arrived = await self._within_time(session, f"{self.name}.{name}", live.advance())
        except BaseException:
            self.drop(call_id)
            raise
        if isinstance(arrived, CallToolResult):
            self._live.pop(call_id, None)
        return arrived

    def drop(self, call_id: str) -> None:
        """Forget a call, and cancel it if it is under way."""
        live = self._live.pop(call_id, None)
        if live is not None:
            live.cancel()


def _request(params: Any) -> InputRequest:
    kind = "sample" if isinstance(params, CreateMessageRequestParams) else "elicit"
    data = params.model_dump(mode="json", by_alias=True, exclude_none=True)
    for key in ("_meta", "elicitationId", "task"):  # differ when a call is repeated
        data.pop(key, None)
    return InputRequest(kind, data)


def _response(params: Any, response: dict[str, Any]) -> Any:
    if "error" in response:
        return ErrorData(code=INVALID_REQUEST, message=str(response["error"]))
    kind = CreateMessageResult if isinstance(params, CreateMessageRequestParams) else ElicitResult
    return kind.model_validate(response)


def _outcome(result: CallToolResult, name: str, put_blob: PutBlob) -> ToolOutcome:
    """Return the text of a result, fenced, and its images."""
    files: list[FilePart] = []
    for block in result.content:
        if isinstance(block, ImageContent) and block.mime_type in IMAGES:
            data = b64decode(block.data)
            ending = block.mime_type.rpartition("/")[2]
            shown = f"{hashlib.sha256(data).hexdigest()[:8]}.{ending}"
            files.append(FilePart(shown, block.mime_type, put_blob(data), len(data)))
    text = untrusted(text_of(result), name, MAX_TEXT)
    return ToolOutcome(text, failed=bool(result.is_error), files=tuple(files))
