"""Finding the best sandbox that really works here, by trying it out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from podium.errors import SandboxUnavailableError
from podium.settings import SandboxOptions, Settings
from podium.tools.sandbox.bubblewrap import Bubblewrap
from podium.tools.sandbox.landlock import Landlock
from podium.tools.sandbox.limits import Limits
from podium.tools.sandbox.probe import find_leak
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.scratch import sweep_up
from podium.tools.sandbox.tier import Tier
from podium.tools.sandbox.unsandboxed import Unsandboxed

HINT = (
    "Install bubblewrap (`apt-get install bubblewrap`) and let users make namespaces, or use Linux 5.13 or "
    "newer with Landlock; `podium doctor` tells more. `--allow-unsandboxed` runs them with all your rights."
)

_LIMITS = {
    "time": "seconds", "cpu": "cpu_seconds", "memory": "memory_bytes", "processes": "processes",
    "file_size": "file_bytes", "output": "output_bytes", "workspace": "workspace_bytes",
    "files": "files", "open_files": "open_files",
}  # fmt: skip
"""Keys of the settings and fields of `Limits`."""


async def open_sandbox(settings: Settings, *, allow_unsandboxed: bool = False) -> Sandbox:
    """The first tier that holds what it promises. None does: `SandboxUnavailableError`, or, if that was
    allowed, a sandbox of the tier `none`, whose `warning` the caller has to log and to show."""
    options = settings.sandbox
    sweep_up()
    reasons: list[str] = []
    for tier in tiers(options):
        reason = tier.check() or await find_leak(_sandbox(tier, "", options))
        if not reason:
            return _sandbox(tier, _why(tier, reasons), options)
        reasons.append(f"{tier.name}: {reason}")
    told = "; ".join(reasons)
    if allow_unsandboxed:
        return _sandbox(Unsandboxed(), f"Programs run with all your rights: {told}", options)
    raise SandboxUnavailableError(f"Programs cannot be shut in here ({told}).", hint=HINT)


def tiers(options: SandboxOptions) -> Sequence[Tier]:
    """What may be tried, the best first."""
    return [
        tier for tier in (Bubblewrap(options.bubblewrap), Landlock()) if options.tier in ("auto", tier.name)
    ]


def limits_of(options: SandboxOptions) -> Limits:
    """The limits of the settings, over the defaults."""
    given = {field: value for key, field in _LIMITS.items() if (value := getattr(options, key)) is not None}
    if "cpu_seconds" in given:
        given["cpu_seconds"] = max(1, round(given["cpu_seconds"]))
    return msgspec.structs.replace(Limits(), **given)


def _sandbox(tier: Tier, reason: str, options: SandboxOptions) -> Sandbox:
    readable = [Path(folder) for folder in options.readable]
    return Sandbox(tier, reason, limits=limits_of(options), readable=readable)


def _why(tier: Tier, reasons: Sequence[str]) -> str:
    if not reasons:
        return f"{tier.name} works here: no network, no secrets, only the workspace can be written"
    return f"{tier.name} works here, what is better does not ({'; '.join(reasons)})"
