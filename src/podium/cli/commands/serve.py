"""`podium serve` and `podium users`."""

from __future__ import annotations

import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from cyclopts.validators import Number

from podium.cli.card import print_table
from podium.cli.flags import AsJson, EngineName, StoreUrl, number, option, whole_number
from podium.cli.terminal import out, print_json, say
from podium.errors import UsageError
from podium.report.words import count, money
from podium.server.users import User, add_user, read_users
from podium.settings import Settings

PORT = 8321
Projects = Annotated[
    str,
    option(
        "With --users: folder of the projects that their builds may change; {user} is the user's name.",
        metavar="DIR",
    ),
]

Names = Annotated[
    tuple[str, ...],
    option("Additional host name of the server, e.g. behind a proxy; repeatable.", metavar="NAME"),
]
Proxies = Annotated[
    tuple[str, ...],
    option("Proxy address or network whose X-Forwarded headers are trusted; repeatable.", metavar="ADDRESS"),
]


async def serve(
    *,
    host: Annotated[
        str, Parameter(help="Address to listen on; any but localhost needs --users.")
    ] = "127.0.0.1",
    port: Annotated[int, number("Port; 0 picks a free port.", validator=Number(gte=0, lte=65535))] = PORT,
    users: Annotated[
        Path | None, Parameter(metavar="FILE", help="File of users and keys; see `podium users add`.")
    ] = None,
    workspaces: Projects = "",
    max_runs: Annotated[int, number("Maximum concurrent runs.", validator=Number(gte=1))] = 20,
    allow_host: Names = (),
    trusted_proxy: Proxies = (),
    open: Annotated[bool, option("Open the UI in a browser.")] = False,
    store: StoreUrl = None,
    engine: EngineName = None,
    json: AsJson = False,
) -> int:
    """Serve the web UI and the HTTP API: start, watch and control runs.

    Without --users, the printed address contains a token that grants full access. Ctrl-C stops the server
    and pauses its runs, which continue at the next start; a second Ctrl-C stops at once. With a PostgreSQL
    store, `podium worker` executes the runs, unless --engine is local.
    """
    if find_spec("fastapi") is None or find_spec("sse_starlette") is None:
        raise UsageError(
            "The server is not installed.", hint="Install it with `pip install 'podium[server]'`."
        )
    from podium.server.http_server import Serving, Started  # noqa: PLC0415 - an extra, and slow to import
    from podium.server.http_server import serve as serve_runs  # noqa: PLC0415 - an extra, and slow to import

    def started(what: Started) -> None:
        if json:
            print_json(msgspec.to_builtins(what))
        else:
            _print_started(what.address, what.users, what.taken_up, what.drives)
        if open:
            webbrowser.open(what.address)

    settings = Settings.load(store=store, engine=engine)
    serving = Serving(
        settings=settings,
        host=host,
        port=port,
        users=users,
        workspaces=workspaces,
        max_runs=max_runs,
        allow_hosts=allow_host,
        trusted_proxies=trusted_proxy,
    )
    await serve_runs(serving, started)
    return 0


def _print_started(address: str, users: int | None, taken_up: int, drives: bool) -> None:
    say(("Podium is running at ", "dim"), (address, "bold"))
    if users is None:
        say(("This address grants full access. Do not share it.", "dim"))
    else:
        say((f"{count(users, 'user')} can sign in with a key.", "dim"))
    if taken_up:
        say(f"Continuing {count(taken_up, 'paused run')}.")
    if drives:
        say(("Ctrl-C stops the server and pauses its runs; they continue at the next start.", "dim"))
    else:
        say(("Workers execute the runs; start one with `podium worker`. Ctrl-C stops the server.", "dim"))


FILE = Path("users.toml")
SHOWN = (
    *("name", "budget_usd", "usd_per_month", "usd_per_day", "run_usd"),
    *("max_runs", "max_queued", "requests_per_minute"),
)
"""Fields of a user in `users list --json`."""
File = Annotated[Path, Parameter(name="--file", metavar="FILE", help="File of users.")]
Amount = Annotated[float | None, Parameter(metavar="USD", validator=Number(gte=0))]
Count = Annotated[int | None, Parameter(metavar="N", converter=whole_number, validator=Number(gte=1))]


async def add(
    name: Annotated[str, Parameter(help="Lowercase letters, digits and _.")],
    /,
    *,
    file: File = FILE,
    budget_usd: Annotated[Amount, Parameter(help="Maximum total cost.")] = None,
    usd_per_month: Annotated[Amount, Parameter(help="Maximum cost per month.")] = None,
    usd_per_day: Annotated[Amount, Parameter(help="Maximum cost per day.")] = None,
    run_usd: Annotated[Amount, Parameter(help="Budget of a run that sets none.")] = None,
    max_runs: Annotated[Count, Parameter(help="Maximum concurrent runs.")] = None,
    max_queued: Annotated[Count, Parameter(help="Maximum queued runs.")] = None,
    max_streams: Annotated[Count, Parameter(help="Maximum concurrent live streams.")] = None,
    requests_per_minute: Annotated[Count, Parameter(help="Maximum requests per minute.")] = None,
    json: AsJson = False,
) -> int:
    """Add a user to a file and print the key.

    The file contains only a hash, so the key cannot be shown again. To replace a key, remove the user's table
    from the file and add the user again. A running server picks up changes.
    """
    limits = {
        "budget_usd": budget_usd,
        "usd_per_month": usd_per_month,
        "usd_per_day": usd_per_day,
        "run_usd": run_usd,
        "max_runs": max_runs,
        "max_queued": max_queued,
        "max_streams": max_streams,
        "requests_per_minute": requests_per_minute,
    }
    key = add_user(file, name, {field: value for field, value in limits.items() if value is not None})
    if json:
        print_json({"name": name, "file": str(file), "key": key})
        return 0
    say(key)
    say(
        (f"Key of {name}. Save it now; {file} contains only its hash.", "dim"),
        to_stderr=True,
    )
    return 0


async def list_(*, file: File = FILE, json: AsJson = False) -> int:
    """List the users of a file with their limits."""
    users = read_users(file)
    if json:
        print_json({"users": [{key: getattr(user, key) for key in SHOWN} for user in users.values()]})
    elif not users:
        say(f"{file} has no users yet.")
    else:
        rows = [(user.name, _limits(user), str(user.max_runs)) for user in users.values()]
        print_table(out(), ("name", "budget", "runs at once"), rows, figures=("budget", "runs at once"))
    return 0


def _limits(user: User) -> str:
    parts = [
        f"{money(limit)}{words}"
        for limit, words in (
            (user.budget_usd, ""),
            (user.usd_per_month, " a month"),
            (user.usd_per_day, " a day"),
        )
        if limit is not None
    ]
    return ", ".join(parts) or "no limit"
