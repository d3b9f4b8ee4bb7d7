"""Whether the user has changes that no commit holds: a run does not see them, and the user should know."""

from __future__ import annotations

from pathlib import Path

from podium.errors import PodiumError
from podium.tools.workspace.git import Git
from podium.tools.workspace.origin import Origin
from podium.tools.workspace.tree import WorkTree, shown

MAX_INDEX = 200_000_000
NOT_TOLD = "Whether there are uncommitted changes could not be found out; they are not part of the run."


async def warn_of_uncommitted(origin: Origin, branch: str, git: Git) -> list[str]:
    """A sentence that counts and names them, or none.

    A copy of the user's index is compared with their files, which are only read. Their settings do not
    count here, so that a file that a filter rewrites may be told as changed though it is not.
    """
    copy = git.folder / "index"
    try:
        copy.write_bytes(WorkTree(Path(origin.git_dir)).read("index", MAX_INDEX))
        (git.dir / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")
        told = await git.run(
            "-c", "core.bare=false", "status", "--porcelain", "-z", "--no-renames",
            "--untracked-files=normal", "--ignore-submodules=all",
            readable=[Path(origin.folder)],
            env={"GIT_WORK_TREE": origin.folder, "GIT_INDEX_FILE": str(copy)},
        )  # fmt: skip
    except FileNotFoundError:  # nothing was ever staged here
        return []
    except (PodiumError, OSError):
        return [NOT_TOLD]
    finally:
        copy.unlink(missing_ok=True)
    paths = [shown(line[3:]) for line in told.decode("utf-8", "surrogateescape").split("\0") if line]
    if not paths:
        return []
    named = ", ".join(paths[:5]) + (", …" if len(paths) > 5 else "")
    return [f"Uncommitted changes are not part of the run, {len(paths)} in all: {named}."]
