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
from podium.cli.flags import AsJson, EngineName, StoreUrl, whole_number
from podium.cli.terminal import out, print_json, say
from podium.errors import UsageError
from podium.report.words import count, money
from podium.server.users import User, add_user, read_users
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


FILE = Path("users.toml")
File = Annotated[Path, Parameter(name="--file", metavar="FILE", help="The file of users.")]
Amount = Annotated[float | None, Parameter(metavar="USD", validator=Number(gte=0))]
Count = Annotated[int | None, Parameter(metavar="N", converter=whole_number, validator=Number(gte=1))]


async def add(
    name: Annotated[str, Parameter(help="Small letters, digits and _.")],
    /,
    *,
    file: File = FILE,
    budget_usd: Annotated[Amount, Parameter(help="Most that all their runs together may cost.")] = None,
    usd_per_month: Annotated[Amount, Parameter(help="Most that they may spend in a month.")] = None,
    usd_per_day: Annotated[Amount, Parameter(help="Most that they may spend in a day.")] = None,
    run_usd: Annotated[Amount, Parameter(help="The ceiling of a run that names none.")] = None,
    max_runs: Annotated[Count, Parameter(help="Most runs at once.")] = None,
    max_queued: Annotated[Count, Parameter(help="Most runs that may wait.")] = None,
    max_streams: Annotated[Count, Parameter(help="Most live streams at once.")] = None,
    requests_per_minute: Annotated[Count, Parameter(help="Most requests in a minute.")] = None,
    json: AsJson = False,
) -> int:
    """Add a user to a file, and print their key.

    The file holds only a hash of the key, so it cannot be shown again. To give somebody a new key, remove
    their table from the file and add them anew. A server that runs takes changes over by itself.
    """
    given = {
        "budget_usd": budget_usd, "usd_per_month": usd_per_month, "usd_per_day": usd_per_day,
        "run_usd": run_usd, "max_runs": max_runs, "max_queued": max_queued,
        "max_streams": max_streams, "requests_per_minute": requests_per_minute,
    }  # fmt: skip
    key = add_user(file, name, {field: value for field, value in given.items() if value is not None})
    if json:
        print_json({"name": name, "file": str(file), "key": key})
        return 0
    say(key)
    say(
        (f"This is the key of {name}. It is shown only now; {file} holds a hash of it.", "dim"),
        to_stderr=True,
    )
    return 0


async def list_(*, file: File = FILE, json: AsJson = False) -> int:
    """The users of a file, and what they may do."""
    found = read_users(file)
    if json:
        print_json(
            {
                "users": [
                    {
                        "name": user.name, "budget_usd": user.budget_usd, "usd_per_month": user.usd_per_month,
                        "usd_per_day": user.usd_per_day, "run_usd": user.run_usd, "max_runs": user.max_runs,
                        "max_queued": user.max_queued, "requests_per_minute": user.requests_per_minute,
                    }
                    for user in found.values()
                ]
            }
        )  # fmt: skip
    elif not found:
        say(f"{file} has no users yet.")
    else:
        rows = [(user.name, _limits(user), str(user.max_runs)) for user in found.values()]
        print_table(out(), ("name", "budget", "runs at once"), rows, figures=("budget", "runs at once"))
    return 0


def _limits(user: User) -> str:
    told = [
        f"{money(limit)}{words}"
        for limit, words in (
            (user.budget_usd, ""), (user.usd_per_month, " a month"), (user.usd_per_day, " a day")
        )
        if limit is not None
    ]  # fmt: skip
    return ", ".join(told) or "no limit"
