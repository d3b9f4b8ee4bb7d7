"""`podium doctor`: checks of everything that Podium needs."""

from __future__ import annotations

from rich.text import Text

from podium.api.doctor import Check, check_all
from podium.cli.card import say_line
from podium.cli.failure import FAILED
from podium.cli.flags import AsJson, StoreUrl
from podium.cli.terminal import out, print_json

_SIGNS = {"ok": ("✓ ok  ", "green"), "warn": ("! warn", "yellow"), "fail": ("✗ fail", "bold red")}


async def doctor(*, store: StoreUrl = None, json: AsJson = False) -> int:
    """Check the installation: store, models, sandbox and optional packages."""
    checks = await check_all(store)
    failed = any(check.state == "fail" for check in checks)
    if json:
        print_json({"ok": not failed, "checks": checks})
    else:
        for check in checks:
            _print(check)
    return FAILED if failed else 0


def _print(check: Check) -> None:
    sign, style = _SIGNS[check.state]
    say_line(out(), Text(sign, style=style), f"  {check.name:<10}", ("  ", ""), check.told)
    if check.fix:
        say_line(out(), " " * 20, (check.fix, "dim"))
