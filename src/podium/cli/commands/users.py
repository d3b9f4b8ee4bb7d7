"""`podium users`: the file of those who may use a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from podium.cli.flags import AsJson, whole_number
from podium.cli.table import print_table
from podium.cli.terminal import out, print_json, say
from podium.report.words import money
from podium.server.users import User, add_user, read_users

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
