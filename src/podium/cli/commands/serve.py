"""`podium serve`: everything over HTTP, live in a browser."""

from __future__ import annotations

import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from cyclopts.validators import Number

from podium.cli.flags import AsJson, EngineName, StoreUrl, whole_number
from podium.cli.terminal import print_json, say
from podium.errors import UsageError
from podium.report.words import count
from podium.settings import Settings

PORT = 8321
Projects = Annotated[
    str,
    Parameter(
        show_default=False, metavar="DIR",
        help="With --users: a folder whose projects build may change for them; {user} is the user's name.",
    ),
]  # fmt: skip

Names = Annotated[
    tuple[str, ...],
    Parameter(
        negative="", show_default=False, metavar="NAME",
        help="Another name that the server goes by, behind a proxy; may be repeated.",
    ),
]  # fmt: skip
Proxies = Annotated[
    tuple[str, ...],
    Parameter(
        negative="", show_default=False, metavar="ADDRESS",
        help="A proxy, or a network of them, whose X-Forwarded headers are believed; may be repeated.",
    ),
]  # fmt: skip


async def serve(
    *,
    host: Annotated[
        str, Parameter(help="The address to listen at; one that others can reach needs --users.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        Parameter(converter=whole_number, validator=Number(gte=0, lte=65535), help="0 takes any free one."),
    ] = PORT,
    users: Annotated[
        Path | None, Parameter(metavar="FILE", help="Named users with keys; see `podium users add`.")
    ] = None,
    workspaces: Projects = "",
    max_runs: Annotated[
        int,
        Parameter(metavar="N", converter=whole_number, validator=Number(gte=1), help="Most runs at once."),
    ] = 20,
    allow_host: Names = (),
    trusted_proxy: Proxies = (),
    open: Annotated[
        bool, Parameter(negative="", show_default=False, help="Open it in a browser.")
    ] = False,
    store: StoreUrl = None,
    engine: EngineName = None,
    json: AsJson = False,
) -> int:  # fmt: skip
    """Serve runs over HTTP: start them, watch them live, steer them.

    On this machine the printed address holds a token, and whoever has it may do everything. Runs that are
    under way when the server stops are paused and go on with the next one. Ctrl-C stops it; twice, at once.
    On a store in PostgreSQL it only accepts and shows; `podium worker` drives, unless it is --engine local.
    """
    if find_spec("fastapi") is None or find_spec("sse_starlette") is None:
        raise UsageError("The server is not installed.", hint="pip install 'podium[server]'")
    from podium.server.serving import Serving, Started  # noqa: PLC0415 - an extra, and slow to import
    from podium.server.serving import serve as serve_runs  # noqa: PLC0415 - an extra, and slow to import

    def started(what: Started) -> None:
        if json:
            print_json(msgspec.to_builtins(what))
        else:
            _tell(what.address, what.users, what.taken_up, what.drives)
        if open:
            webbrowser.open(what.address)

    settings = Settings.load(store=store, engine=engine)
    serving = Serving(
        settings=settings, host=host, port=port, users=users, workspaces=workspaces, max_runs=max_runs,
        allow_hosts=allow_host, trusted_proxies=trusted_proxy,
    )  # fmt: skip
    await serve_runs(serving, started)
    return 0


def _tell(address: str, users: int | None, taken_up: int, drives: bool) -> None:
    say(("Podium serves at ", "dim"), (address, "bold"))
    if users is None:
        say(("Whoever has this address may do everything: keep it to yourself.", "dim"))
    else:
        say((f"{count(users, 'user')} may sign in with a key.", "dim"))
    if taken_up:
        say(f"{count(taken_up, 'run')} from before {'goes' if taken_up == 1 else 'go'} on.")
    if drives:
        say(("Ctrl-C stops it; runs under way are paused and go on next time.", "dim"))
    else:
        say(("Runs are driven by workers; start some with `podium worker`. Ctrl-C stops the server.", "dim"))
