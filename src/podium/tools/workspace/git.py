"""Sandboxed git, commits and snapshots.

No settings of the user, the machine or the user's repository are read: there are no hooks, filters, external
diffs, helpers, includes or remotes. `WorkTree` reads and writes the work tree, not git: git never looks at
anything in it (attributes, a planted `.git`, a pipe).
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from podium.errors import WorkspaceError
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.tier import Executed, SandboxLimits
from podium.tools.workspace.change import FileStat, Status
from podium.tools.workspace.origin import Origin, read_ref
from podium.tools.workspace.tree import WorkTree

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
"""Overrides any `.gitattributes`: a file's bytes are those of its blob, and its changes are shown."""


MAX_KEPT = 32_000_000
"""Maximum bytes of git's answers kept in memory for each workspace."""
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?(?:\^\{commit\})?")


class Answers:
    """Git's answers about commits and blobs. What a hash names never changes, so each is asked for once."""

    def __init__(self, limit: int = MAX_KEPT) -> None:
        self._kept = OrderedDict[object, bytes]()
        self._bytes, self._limit = 0, limit

    def get(self, key: object) -> bytes | None:
        """Return the answer to a question, if it is kept."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: object, answer: bytes) -> None:
        """Keep an answer, and drop those that were not needed for longest."""
        if key in self._kept or len(answer) > self._limit // 4:
            return
        self._kept[key] = answer
        self._bytes += len(answer)
        while self._bytes > self._limit:
            self._bytes -= len(self._kept.popitem(last=False)[1])


class Git:
    """The private repository, and git commands on it."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.folder = folder
        """Holds only the repository; git can write nowhere else."""
        self.dir = folder / "repo.git"
        self.warnings: list[str] = []
        """Warnings of the sandbox about dangerous files in the repository."""
        self.answers = Answers()
        self._sandbox = sandbox

    @staticmethod
    def place(home: Path) -> Path:
        """Return the repository path of a workspace in `home`."""
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
        """Return git's output, or raise a `WorkspaceError` with the first line of its stderr."""
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
        """Run git and return the result, whatever its exit code."""
        options = [part for option in _OPTIONS for part in ("-c", option)]
        done = await self._sandbox.run(
            ["git", *options, *args],
            folder=self.folder,
            readable=readable,
            env={**_ENVIRONMENT, "GIT_DIR": str(self.dir), **(env or {})},
            stdin=stdin,
            limits=SandboxLimits(seconds=SECONDS, output_bytes=output_bytes),
        )
        self.warnings += [warning for warning in done.warnings if warning not in self.warnings]
        return done

    async def read(self, *args: str, hashes: Sequence[str], output_bytes: int = 20_000_000) -> bytes:
        """Return git's output about the objects with these hashes; each question is put to git only once."""
        key = (*args, *hashes)
        kept = self.answers.get(key)
        if kept is not None:
            return kept
        output = await self.run(*args, *hashes, output_bytes=output_bytes)
        if all(map(_HASH.fullmatch, hashes)):
            self.answers.keep(key, output)
        return output

    async def make(self, object_format: str = "sha1") -> None:
        """Create an empty repository, without a template."""
        await self.run(
            "init", "-q", "--bare", "--template=", f"--object-format={object_format}", str(self.dir)
        )
        (self.dir / "info").mkdir(exist_ok=True)
        (self.dir / "info" / "attributes").write_text(ATTRIBUTES, encoding="ascii")

    def unlock(self) -> None:
        """Remove lock and temporary files of a killed git. One process owns this run, and no git is
        running."""
        for pattern in ("**/*.lock", "objects/**/tmp_*", "fast_import_crash_*"):
            for file in self.dir.glob(pattern):
                file.unlink(missing_ok=True)


def _complaint(done: Executed) -> str:
    if done.stopped_by:
        return f"stopped by its limit of {done.stopped_by}"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return (lines[0] if lines else f"exit code {done.exit_code}").rstrip(".")[:300]


FILE, PROGRAM, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
STATUSES: dict[str, Status] = {"A": "added", "D": "deleted", "R": "renamed"}
MAX_BATCH = 50_000_000
"""Maximum bytes of blobs requested from git at once."""


class Blob(msgspec.Struct, frozen=True):
    """A file in a commit."""

    mode: str
    sha: str
    size: int


class Write(msgspec.Struct, frozen=True):
    """The wanted state of a file; None as data deletes it."""

    path: str
    data: bytes | None
    mode: str = FILE


class History:
    """Queries and additions to the private repository, most of them one git command each."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._refs = WorkTree(git.dir)

    async def adopt(self, origin: Origin) -> None:
        """Copy the checked-out commit, without its history.

        Git sees only the object folders: no setting of the user's repository is read. That repository is not
        needed again afterwards.
        """
        folders = origin.object_folders()
        borrowed = ":".join(listed_folder(folder) for folder in folders)
        pack = self._git.dir / "objects" / "pack" / "pack"
        done = await self._git.execute(
            *("pack-objects", "-q", "--revs", "--no-reuse-delta", "--window=0", str(pack)),
            stdin=f"--shallow {origin.head}\n{origin.head}\n".encode(),
            readable=folders,
            env={"GIT_ALTERNATE_OBJECT_DIRECTORIES": borrowed},
        )
        if not done.ok:
            raise WorkspaceError(
                f"The files of commit {origin.head[:12]} could not be read from {origin.folder}.",
                hint="Its repository may be a partial clone or damaged: run `git fsck`.",
            )
        (self._git.dir / "shallow").write_text(f"{origin.head}\n", encoding="ascii")

    async def files(self, commit: str) -> dict[str, Blob] | None:
        """Return every file of a commit by path; None if there is no such commit."""
        arguments = ("ls-tree", "-r", "-z", "-l", "--full-tree")
        try:
            listed = await self._git.read(
                *arguments, hashes=[f"{commit}^{{commit}}"], output_bytes=100_000_000
            )
        except WorkspaceError:
            return None
        blobs = dict[str, Blob]()
        for record in listed.split(b"\0"):
            if record:
                about, _, name = record.partition(b"\t")
                mode, _, sha, size = about.decode("ascii").split()
                path = name.decode("utf-8", "surrogateescape")
                blobs[path] = Blob(mode, sha, 0 if size == "-" else int(size))
        return blobs

    async def blobs(self, wanted: Mapping[str, int]) -> dict[str, bytes]:
        """Return the contents of blobs, given their sizes."""
        kept = {sha: self._git.answers.get(sha) for sha in wanted}
        contents = {sha: data for sha, data in kept.items() if data is not None}
        for batch in _batches({sha: size for sha, size in wanted.items() if sha not in contents}):
            output = sum(wanted[sha] for sha in batch) + 200 * len(batch)
            request = "".join(f"{sha}\n" for sha in batch).encode()
            data = await self._git.run("cat-file", "--batch", stdin=request, output_bytes=output)
            at = 0
            for sha in batch:
                end = data.index(b"\n", at)
                size = int(data[at:end].split()[2])
                contents[sha] = data[end + 1 : end + 1 + size]
                self._git.answers.keep(sha, contents[sha])
                at = end + 2 + size
        return contents

    async def record(self, onto: str, head: str, writes: Sequence[Write]) -> str:
        """Record a snapshot: the files of `onto` after `writes`, taken while the branch was at `head`.

        It has no timestamp, so the same files on the same state get the same hash.
        """
        output = await self._git.run(
            "fast-import", "--quiet", "--date-format=raw", "--force", stdin=_stream(onto, writes)
        )
        sha = output.decode("ascii").strip()
        self.point({f"refs/podium/heads/{sha}": head or sha, f"refs/podium/kept/{sha}": sha})
        return sha

    async def commit(self, snapshot: str, parent: str, message: str, when: int) -> str:
        """Commit the files of a snapshot with a message; return the hash."""
        dates = {"GIT_AUTHOR_DATE": f"@{when} +0000", "GIT_COMMITTER_DATE": f"@{when} +0000"}
        parents = ["-p", parent] if parent else []
        output = await self._git.run(
            "commit-tree", f"{snapshot}^{{tree}}", *parents, "-F", "-", stdin=message.encode(), env=dates
        )
        return output.decode("ascii").strip()

    def point(self, names: Mapping[str, str]) -> None:
        """Set refs to commits, whatever they pointed at before.

        Written as files, in the given order: no other process writes here, and a git command takes far
        longer.
        """
        for name, sha in names.items():
            self._refs.write(name, f"{sha}\n".encode(), sync=True)

    def pointed(self, name: str) -> str:
        """Return the hash that a ref points at; empty if the ref does not exist."""
        return read_ref(self._git.dir, name)

    def names(self, prefix: str) -> list[str]:
        """Return the last path component of all refs below a prefix."""
        folder = self._git.dir / prefix
        return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []

    async def commits(self, base: str, head: str) -> list[str]:
        """Return the commits after `base`, oldest first."""
        since = [f"^{base}"] if base else []
        output = await self._git.run("rev-list", "--reverse", head, *since)
        return output.decode("ascii").split()

    async def diff(self, old: str, new: str, *, whole: bool, output_bytes: int = 50_000_000) -> bytes:
        """Return the differences as a patch; with `whole` it includes binary files, so that it can be
        applied."""
        options = ["-p", "-r", "-M", "--no-color", "--no-ext-diff", "--no-textconv"]
        options += ["--binary", "--full-index"] if whole else ["-U8"]
        return await self._git.read("diff-tree", *options, hashes=[old, new], output_bytes=output_bytes)

    async def stat(self, old: str, new: str) -> list[FileStat]:
        """Return the diff statistics."""
        options = ("-r", "-M", "-z", "--raw", "--numstat")
        return _stats(await self._git.read("diff-tree", *options, hashes=[old, new]))

    async def pack(self, base: str, head: str, folder: Path) -> str:
        """Pack everything that `head` has and `base` has not into `folder`; return the pack's name."""
        since = f"^{base}\n" if base else ""
        output = await self._git.run(
            "pack-objects", "-q", "--revs", str(folder / "pack"), stdin=f"{head}\n{since}".encode()
        )
        return output.decode("ascii").strip()

    async def ignored(self, paths: Sequence[str], tree: Path) -> set[str]:
        """Return those of these untracked paths that the `.gitignore` files of the tree exclude."""
        names = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
        output = await self._git.run(
            *("-c", "core.bare=false", "check-ignore", "--no-index", "-z", "--stdin"),
            stdin=names,
            readable=[tree],
            env={"GIT_WORK_TREE": str(tree)},
            codes=(0, 1),
        )
        return {path.decode("utf-8", "surrogateescape") for path in output.split(b"\0") if path}


def _stream(onto: str, writes: Sequence[Write]) -> bytes:
    """Return the input of `git fast-import`: one commit, and a request for its hash."""
    lines = [b"commit refs/podium/state", b"mark :1", b"committer Podium <podium@localhost> 0 +0000"]
    lines += [b"data 8", b"snapshot"]
    if onto:
        lines.append(f"from {onto}".encode())
    for write in sorted(writes, key=lambda write: write.data is not None):  # deletions first, to make room
        name = _quoted(write.path)
        if write.data is None:
            lines.append(b"D " + name)
        else:
            lines += [f"M {write.mode} inline ".encode() + name, f"data {len(write.data)}".encode()]
            lines.append(write.data)
    return b"\n".join([*lines, b"get-mark :1", b"done", b""])


def _quoted(path: str) -> bytes:
    escaped = path.encode("utf-8", "surrogateescape").replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return b'"' + escaped.replace(b"\n", b"\\n") + b'"'


def listed_folder(folder: Path) -> str:
    """Return a folder for git's colon-separated list, quoted where necessary."""
    text = str(folder)
    if ":" not in text and not text.startswith('"'):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _batches(wanted: Mapping[str, int]) -> Iterable[list[str]]:
    batch, size = list[str](), 0
    for sha, length in wanted.items():
        if batch and (size + length > MAX_BATCH or len(batch) >= 5_000):
            yield batch
            batch, size = [], 0
        batch.append(sha)
        size += length
    if batch:
        yield batch


def _stats(output: bytes) -> list[FileStat]:
    """Parse the output of `--raw --numstat -z` and join both parts by path."""
    fields = output.decode("utf-8", "surrogateescape").split("\0")
    letters, stats, at = dict[str, str](), list[FileStat](), 0
    while at < len(fields) and fields[at].startswith(":"):
        letter = fields[at].split()[4][0]
        steps = 2 if letter in "RC" else 1
        letters[fields[at + steps]] = letter
        at += steps + 1
    while at < len(fields) and fields[at]:
        added, removed, path = fields[at].split("\t", 2)
        old = ""
        if not path:
            old, path, at = fields[at + 1], fields[at + 2], at + 2
        status = STATUSES.get(letters.get(path, "M"), "modified")
        counts = (0, 0) if added == "-" else (int(added), int(removed))
        stats.append(FileStat(path, *counts, binary=added == "-", old_path=old, status=status))
        at += 1
    return stats
