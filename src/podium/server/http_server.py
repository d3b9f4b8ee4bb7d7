"""Server process, header timeout and strict parsing of request heads.

h11 is lenient where proxies differ from it: lines that end in a bare LF, folded lines, a repeated
Content-Length, Content-Length beside Transfer-Encoding. A request that two servers parse differently can be
smuggled past the first one, so such a head is rejected (RFC 9112, sections 2.2, 5.2, 6.1 and 6.3).

Uvicorn waits without limit for the rest of a request's head, so a few hundred clients that send a byte now
and then could occupy all connections (Slowloris).
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import re
import signal
import socket
from asyncio import TimerHandle, Transport
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h11
import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from podium.cluster.fleet import Fleet
from podium.cluster.port import LOCAL, Engine, open_engine, shared
from podium.engine.log import Store
from podium.errors import PodiumError, StoreError, UsageError
from podium.server.app import build_app
from podium.server.auth import TokenAuthenticator, UserAuthenticator, session_secret
from podium.server.permissions import USER
from podium.server.rate_limits import Names, is_loopback
from podium.server.run_loop import RunLoopThread
from podium.server.schedulers import FleetScheduler
from podium.server.state import UI, ServerState
from podium.server.users import Users
from podium.settings import Settings
from podium.settings.places import named
from podium.stores import is_postgres, open_store

_END = re.compile(rb"\n\r?\n")
"""The end of a request head as h11 detects it."""
_LENGTH = re.compile(rb"[ \t]*[0-9]{1,18}[ \t]*")


class StrictConnection(h11.Connection):
    """A server-side h11 connection that rejects ambiguous request heads."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        if self.their_state is h11.IDLE:
            problem = head_problem(self.trailing_data[0])
            if problem:
                raise h11.RemoteProtocolError(problem, error_status_hint=400)
        return super().next_event()


def head_problem(received: bytes) -> str:
    """Return the problem of the request head at the start of the received bytes. Empty if there is none, or
    if the head is not complete yet."""
    end = _END.search(received)
    if end is None:
        return ""
    head = received[: end.end()]
    plain = head.replace(b"\r\n", b"")
    if b"\n" in plain or b"\r" in plain:
        return "a line does not end in CRLF"
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if any(line[:1] in (b" ", b"\t") for line in lines):
        return "a header is folded"
    fields = [(name.lower(), value) for name, _, value in (line.partition(b":") for line in lines)]
    lengths = [value for name, value in fields if name == b"content-length"]
    codings = [value for name, value in fields if name == b"transfer-encoding"]
    if len(lengths) > 1 or any(not _LENGTH.fullmatch(value) for value in lengths):
        return "Content-Length is repeated or not a number"
    if codings and (lengths or len(codings) > 1 or not first.endswith(b"HTTP/1.1")):
        return "Transfer-Encoding beside another framing"
    return ""


HEAD_S = 20.0
"""Seconds for everything before the body of a request."""
MOST_HEAD = 65_536
"""Maximum size of a request head in bytes."""


class HeaderTimeout(H11Protocol):
    """Closes a connection unless a complete and unambiguous request head arrives within `head_s` seconds."""

    head_s = HEAD_S
    _late: TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = StrictConnection(h11.SERVER, MOST_HEAD)

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.cycle or self.cycle.response_complete:  # there is no cycle before the first request
            self._expect()  # the head is incomplete; further bytes do not extend the timeout
        elif self._late is not None:
            self._late.cancel()
            self._late = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self._late is None:
            self._late = asyncio.get_running_loop().call_later(self.head_s, self._let_go)

    def _let_go(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


BACKLOG = 2048
DRAIN_S = 5
"""Seconds that open requests may take when the server stops."""
HARD_EXIT_S = 5.0
"""Seconds that the second signal waits for an orderly end before the process exits."""
INTERRUPTED = 130
"""Exit code of a server that did not end in order."""


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """Options for starting a server."""

    settings: Settings
    host: str = "127.0.0.1"
    port: int = 8321
    """0 picks a free port."""
    users: Path | None = None
    workspaces: str = ""
    """Folder whose projects users may name for `build`. `{user}` in it stands for the user's name."""
    max_runs: int = 20
    allow_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted."""
    token: str = ""
    """Token of a local server. Empty: a new random one."""
    ui: Path = UI


class Started(msgspec.Struct, frozen=True):
    """Information about a server that has started."""

    address: str
    """URL of the server, with the token if it has one."""
    users: int | None
    """Number of users. None: access is by token."""
    taken_up: int
    """Number of runs that continue from an earlier server."""
    drives: bool = True
    """True if this process drives the runs, False if workers do."""


class PodiumServer(uvicorn.Server):
    """A uvicorn server that ends streams before it waits for connections, and handles signals itself."""

    stopping: Callable[[], None] = staticmethod(lambda: None)
    """Called before connections are waited for."""
    hurry: Callable[[], None] = staticmethod(lambda: None)
    """Called on the second signal."""
    _signals = 0

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for _ in range(3):  # uvicorn registers a connection accepted just now only later
            await asyncio.sleep(0)
        self.stopping()
        await super().shutdown(sockets)
        if self.force_exit:  # uvicorn then skips the application's shutdown, which pauses the runs
            await self.lifespan.shutdown()
        for connection in list(self.server_state.connections):  # its client does not read
            connection.transport.abort()
        await asyncio.sleep(0)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop gracefully on the first signal. The second cuts off calls in flight and exits after
        `HARD_EXIT_S` seconds at the latest; the third exits at once. Unlike uvicorn, does not raise the
        signal again at the end, which would kill this process during its exit."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        try:
            for number in signals:
                loop.add_signal_handler(number, self._stop)
        except (ValueError, RuntimeError):  # not the main thread: the caller decides when it ends
            yield
            return
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self._signals += 1
        self.should_exit = True
        if self._signals == 2:
            self.force_exit = True
            self.hurry()
            asyncio.get_running_loop().call_later(HARD_EXIT_S, os._exit, INTERRUPTED)
        elif self._signals > 2:
            os._exit(INTERRUPTED)  # finished steps are in the log


def check(serving: Serving) -> None:
    """Raise `UsageError` for invalid options. A server that other machines can reach needs users."""
    if serving.users is None and not is_loopback(serving.host):
        raise UsageError(
            f"{serving.host} can be reached from other machines, so users are needed.",
            hint="Make some with `podium users add NAME`, then serve with --users users.toml.",
        )
    place = named(serving.workspaces.partition(USER)[0] or ".")
    if serving.workspaces and not place.is_dir():
        raise UsageError(
            f"There is no folder {place}.", hint="Name the folder of projects with --workspaces."
        )
    if serving.max_runs < 1:
        raise UsageError("--max-runs must be at least 1.")
    for proxy in serving.trusted_proxies:
        _check_proxy(proxy)


def _check_proxy(given: str) -> None:
    try:
        ipaddress.ip_network(given)
    except ValueError as error:
        raise UsageError(
            f"{given!r} is not the address of a proxy, nor a network.",
            hint="Give an IP address or a network: --trusted-proxy 10.0.0.0/8",
        ) from error


async def serve(
    serving: Serving,
    started: Callable[[Started], None],
    *,
    made: Callable[[PodiumServer], None] = lambda _: None,
) -> None:
    """Serve until the server is stopped. Runs under way are then paused, and continue with
    the next server."""
    check(serving)
    names = Names(serving.host, serving.allow_hosts)
    users = Users(serving.users) if serving.users is not None else None
    listening = listen(serving.host, serving.port)
    port = int(listening.getsockname()[1])
    try:
        store = await _opened(serving.settings)
    except BaseException:
        listening.close()
        raise
    authenticator = _authenticator(serving.token, users, store)
    engine = run_loop = None
    try:
        engine = await _engine_of(serving.settings)
        if engine is None:
            run_loop = RunLoopThread(serving.settings.store, lock_timeout=serving.settings.lock_timeout)
            await run_loop.open()
        state = ServerState(
            serving.settings,
            store,
            authenticator=authenticator,
            cookie=f"podium-{port}",
            max_runs=serving.max_runs,
            users=users,
            workspaces=serving.workspaces,
            ui=serving.ui,
            run_loop=run_loop,
            fleet_scheduler=_fleet_scheduler(serving, store, engine),
        )
        token = f"?token={authenticator.token}" if isinstance(authenticator, TokenAuthenticator) else ""
        shown = f"[{serving.host}]" if ":" in serving.host else serving.host
        address = f"http://{shown}:{port}/{token}"

        def ready(taken_up: int) -> None:
            started(Started(address, len(users) if users else None, taken_up, engine is None))

        app = build_app(state, names, ready=ready)
        server = PodiumServer(_config(app, serving.trusted_proxies))
        logging.getLogger("uvicorn.error").addFilter(_is_news)
        server.stopping = state.end_streams
        server.hurry = state.scheduler.stop_at_once
        made(server)
        await server.serve(sockets=[listening])
        if not server.started:
            raise PodiumError("The server could not start.", hint="See its log.")
    finally:
        if run_loop is not None:
            await run_loop.close()
        if engine is not None:
            await engine.close()
        await store.close()


def _authenticator(token: str, users: Users | None, store: Store) -> UserAuthenticator | TokenAuthenticator:
    return UserAuthenticator(users) if users else TokenAuthenticator(token, session_secret(store.url))


async def _engine_of(settings: Settings) -> Engine | None:
    """Return the engine of workers that drive the runs on a shared store. None: this process drives them."""
    if settings.engine == LOCAL or not (settings.engine or is_postgres(settings.store)):
        return None
    return await open_engine(settings.engine, settings.store)


def _fleet_scheduler(serving: Serving, store: Store, engine: Engine | None) -> FleetScheduler | None:
    if engine is None:
        return None
    fleet = Fleet(store, serving.settings, engine)
    return FleetScheduler(shared(store), fleet, max_runs=serving.max_runs)


async def _opened(settings: Settings) -> Store:
    """Open the store. A store that cannot be opened is a usage error."""
    try:
        return await open_store(settings.store, lock_timeout=settings.lock_timeout)
    except StoreError as error:
        raise UsageError(str(error), hint=error.hint or "Choose another with --store.") from error


def _is_news(record: logging.LogRecord) -> bool:
    """Filter out two uvicorn messages that are expected here: a stream that ends because its client does not
    read has no proper end, and its connection outlasts the graceful shutdown."""
    message = record.getMessage()
    return "without completing response" not in message and "Cancel 0 running" not in message


def _config(app: ASGIApp, trusted_proxies: tuple[str, ...]) -> uvicorn.Config:
    """Return uvicorn's configuration. No access log: URLs may contain a token."""
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=DRAIN_S,
        server_header=False,
        date_header=True,
        limit_concurrency=None,
        ws="none",
        lifespan="on",
        http=HeaderTimeout,
        timeout_keep_alive=15,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections from now on."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # With an explicit IPPROTO_TCP, asyncio sets TCP_NODELAY. Otherwise each response waits for the
        # client's ACK of its headers, 40 ms more.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(
            f"Nothing can be served at {host}:{port}: {reason}.", hint="Choose another port with --port."
        ) from error
    listener.listen(BACKLOG)  # connections are queued from now on, even before requests are answered
    listener.setblocking(False)
    return listener
