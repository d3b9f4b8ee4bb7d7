"""`podium cache`: contents and savings of the cache of model calls, and clearing it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from podium.cli.card import print_table
from podium.cli.flags import AsJson, StoreUrl, seconds_of
from podium.cli.opening import Commands, opened
from podium.cli.terminal import ask_person, interactive, out, print_json, say
from podium.engine.events import RunWaiting
from podium.engine.store_parts import CacheShare, total_of
from podium.errors import UsageError
from podium.report.words import ago, amount, count, model_name, money, one_line, size
from podium.settings import Settings, nearest


async def cache(
    action: Annotated[Literal["stats", "clear"], Parameter(help="Look at it, or empty it.")] = "stats",
    /,
    *,
    older_than: Annotated[
        float | None,
        Parameter(
            metavar="TIME", converter=seconds_of, help="Clear only what was not used for so long: 30d."
        ),
    ] = None,
    model: Annotated[
        str, Parameter(show_default=False, metavar="MODEL", help="Clear only this model's answers.")
    ] = "",
    yes: Annotated[
        bool, Parameter(negative="", show_default=False, help="Clear without asking first.")
    ] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Show what the cache of model calls holds and has saved; `clear` empties it.

    Runs use it when they are started with --cache, or with `cache = true` in podium.toml. Its size is limited
    by `cache_size`; what was not used for the longest time goes first. The room that a cleared cache leaves
    in the store is used by later runs.
    """
    if action == "stats" and (older_than is not None or model or yes):
        raise UsageError("Those options belong to `podium cache clear`.", hint="See `podium cache --help`.")
    async with opened(store) as (settings, opened_store):
        shares = await opened_store.cache_shares()
        if action == "stats":
            _tell(shares, settings, as_json=json)
            return 0
        full_name = _meant(model, shares) if model else ""
        if not yes and not await _agreed(full_name, older_than, as_json=json):
            say("Nothing was cleared.")
            return 0
        before_us = None if older_than is None else time.time_ns() // 1000 - int(older_than * 1e6)
        cleared = await opened_store.clear_cache(before_us=before_us, model=full_name)
    if json:
        print_json({"cleared": {"entries": cleared.entries, "bytes": cleared.bytes}})
    else:
        say(f"Cleared {_answers(cleared.entries)}, {size(cleared.bytes)}.")
    return 0


# ── stats ──


def _tell(shares: list[CacheShare], settings: Settings, *, as_json: bool) -> None:
    if as_json:
        print_json(_as_data(shares, settings))
        return
    if not shares:
        say("The cache is empty.")
        say(("Fill it with ", "dim"), Commands(settings)("run", "WORKFLOW", "REQUEST", "--cache"))
        return
    whole = total_of(shares)
    say(
        f"{_answers(whole.entries)}, {size(whole.bytes)} of {size(settings.cache_size)}; "
        f"{count(whole.hits, 'call')} saved, {money(whole.saved.usd)}"
    )
    rows = [_row(share) for share in shares]
    titles = ("model", "answers", "size", "saved calls", "saved", "oldest", "newest")
    print_table(out(), titles, rows, figures=titles[1:], spare=("oldest", "newest", "size"))


def _row(share: CacheShare) -> tuple[str, ...]:
    return (
        one_line(model_name(share.model)), amount(share.entries), size(share.bytes), amount(share.hits),
        money(share.saved.usd), _when(share.oldest_us), _when(share.newest_us),
    )  # fmt: skip


def _as_data(shares: list[CacheShare], settings: Settings) -> dict[str, Any]:
    models = [{"model": share.model, **_figures(share)} for share in shares]
    return {**_figures(total_of(shares)), "limit_bytes": settings.cache_size, "models": models}


def _figures(share: CacheShare) -> dict[str, Any]:
    return {**share.figures(), "oldest": _iso(share.oldest_us), "newest": _iso(share.newest_us)}


def _answers(number: int) -> str:
    return count(number, "answer")


def _when(micros: int) -> str:
    return ago(datetime.fromtimestamp(micros / 1_000_000, UTC)) if micros else ""


def _iso(micros: int) -> str | None:
    if not micros:
        return None
    return (
        datetime.fromtimestamp(micros / 1_000_000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    )


# ── clear ──


def _meant(model: str, shares: list[CacheShare]) -> str:
    """Return the full name of a model, given by its full name or as the list shows it."""
    for share in shares:
        if model in (share.model, model_name(share.model)):
            return share.model
    names = [model_name(share.model) for share in shares]
    close, held = nearest(model, names), ", ".join(names) or "nothing at all"
    raise UsageError(
        f"The cache holds no answer of {model}.",
        hint=f"Did you mean {close}?" if close else f"It holds: {held}.",
    )


async def _agreed(model: str, older_than: float | None, *, as_json: bool) -> bool:
    if as_json or not interactive():
        raise UsageError("Clearing the cache needs a word of consent.", hint="Add --yes.")
    which = f" of {model_name(model)}" if model else ""
    old = " that were not used for that long" if older_than is not None else ""
    asked = RunWaiting(question=f"Remove the cached answers{which}{old}?", choices=["yes", "no"])
    return await ask_person(asked) == "yes"
