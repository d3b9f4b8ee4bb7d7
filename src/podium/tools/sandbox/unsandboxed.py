"""No sandbox: for those who allowed it, where none can be had. Limits hold, and nothing is left running."""

from __future__ import annotations

import msgspec

from podium.tools.sandbox.landlock import keeper
from podium.tools.sandbox.tier import Job, Launch


class Unsandboxed:
    """Programs run as the user, and can read and write whatever the user can."""

    name = "none"

    def check(self) -> str:
        """It always works."""
        return ""

    def launch(self, job: Job) -> Launch:
        """The keeper's command line, without anything that shuts the program in."""
        return keeper(msgspec.structs.replace(job, spare=None), "")
