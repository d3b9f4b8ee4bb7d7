"""Git, run in the sandbox on a repository that only Podium writes.

No settings of the user, of the machine or of the user's repository are read: no hooks, filters, external
diffs, helpers, includes or remotes exist here. The work tree is written and read by `WorkTree`, not by git:
nothing in it (attributes, a planted `.git`, a pipe) is ever looked at by git either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from podium.errors import WorkspaceError
from podium.tools.sandbox.limits import Executed, Limits
from podium.tools.sandbox.sandbox import Sandbox

SECONDS = 300.0

_OPTIONS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false", "core.pager=cat",
    "core.attributesFile=/dev/null", "core.excludesFile=/dev/null", "core.logAllRefUpdates=false",
    "gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false", "protocol.allow=never",
    "submodule.recurse=false", "core.quotePath=true", "fastimport.unpackLimit=1000",
)  # fmt: skip

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "false", "GIT_EDITOR": "false",
    "GIT_PAGER": "cat", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none", "GIT_AUTHOR_NAME": "Podium", "GIT_AUTHOR_EMAIL": "podium@localhost",
    "GIT_COMMITTER_NAME": "Podium", "GIT_COMMITTER_EMAIL": "podium@localhost", "LC_ALL": "C", "TZ": "UTC",
}  # fmt: skip

ATTRIBUTES = "* -text !eol -filter -ident -working-tree-encoding !diff !merge -export-ignore -export-subst\n"
"""Stronger than any `.gitattributes`: a file's bytes are those of its blob, and its changes are shown."""


class Git:
    """The private repository, and git over it."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.folder = folder
        """Holds the repository and nothing else; all that git can write."""
        self.dir = folder / "repo.git"
        self.warnings: list[str] = []
        """What the sandbox told about dangerous files in the repository."""
        self._sandbox = sandbox

    @staticmethod
    def place(home: Path) -> Path:
        """Where a workspace in `home` keeps its repository."""
        return home / "git" / "repo.git"

    async def run(
        self,
        *args: str,
        stdin: bytes = b"",
        readable: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
        output_bytes: int = 20_000_000,
        codes: Sequence[int] = (0,),
    ) -> bytes:
        """What git prints, or a `WorkspaceError` with its first line of complaint."""
        done = await self.execute(*args, stdin=stdin, readable=readable, env=env, output_bytes=output_bytes)
        if done.stopped_by or done.exit_code not in codes:
            raise WorkspaceError(f"`git {args[0]}` failed in the workspace: {_complaint(done)}.")
        return done.raw

    async def execute(
        self,
        *args: str,
        stdin: bytes = b"",
        readable: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
        output_bytes: int = 20_000_000,
    ) -> Executed:
        """Run git to its end, however it ends."""
        options = [part for option in _OPTIONS for part in ("-c", option)]
        done = await self._sandbox.run(
            ["git", *options, *args],
            folder=self.folder,
            readable=readable,
            env={**_ENVIRONMENT, "GIT_DIR": str(self.dir), **(env or {})},
            stdin=stdin,
            limits=Limits(seconds=SECONDS, output_bytes=output_bytes),
        )
        self.warnings += [warning for warning in done.warnings if warning not in self.warnings]
        return done

    async def make(self, object_format: str = "sha1") -> None:
        """An empty repository, with nothing from any template."""
        await self.run(
            "init", "-q", "--bare", "--template=", f"--object-format={object_format}", str(self.dir)
        )
        (self.dir / "info").mkdir(exist_ok=True)
        (self.dir / "info" / "attributes").write_text(ATTRIBUTES, encoding="ascii")

    def unlock(self) -> None:
        """Take away what a killed git left behind; only one process has this run, and no git is running."""
        for pattern in ("**/*.lock", "objects/**/tmp_*", "fast_import_crash_*"):
            for left in self.dir.glob(pattern):
                left.unlink(missing_ok=True)


def _complaint(done: Executed) -> str:
    if done.stopped_by:
        return f"stopped by its limit of {done.stopped_by}"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return (lines[0] if lines else f"exit code {done.exit_code}").rstrip(".")[:300]
