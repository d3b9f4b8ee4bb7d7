"""Every attack of the other files again, as a command that a coder runs in a workspace."""

from __future__ import annotations

import inspect
import shlex
import shutil
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.tier import Executed, SandboxLimits, anchored
from podium.tools.workspace.commands import run_command
from podium.tools.workspace.lifecycle import open_workspace
from podium.tools.workspace.snapshots import remove_folder
from tests.tools.sandbox import (
    test_filter,
    test_host_files,
    test_isolation,
    test_left_files,
    test_leftovers,
    test_limits,
    test_root,
)
from tests.tools.sandbox.attack import SOON, new_mark, running_with
from tests.tools.sandbox.test_isolation import secret, stack
from tests.tools.workspace.conftest import sandbox
from tests.tools.workspace.users import UserRepository

__all__ = ["sandbox", "secret", "stack"]

MODULES = (
    test_filter,
    test_host_files,
    test_isolation,
    test_left_files,
    test_leftovers,
    test_limits,
    test_root,
)
_HOST = "the workspace removes what the host planted in it before a command starts"
_LOOKS = "looks at files in the folder; `test_commands` looks at what is left of them in a workspace"
_MORE = "a command sees no more folders than the tests do"
ELSEWHERE = {
    "test_a_listening_socket_in_the_workspace_is_not_reached": _HOST,
    "test_no_datagram_reaches_a_socket_of_the_host": _HOST,
    "test_a_workspace_that_is_named_by_a_link_is_closed_at_both_names": _HOST,
    "test_a_pipe_of_the_host_is_closed_or_refused": _HOST,
    "test_a_device_of_the_host_is_closed_or_refused": _HOST,
    "test_bits_that_were_there_before_are_removed_before_a_program_can_use_them": _HOST,
    "test_a_socket_in_a_readable_folder_is_not_reached": _MORE,
    "test_what_is_readable_is_not_writable": _MORE,
    "test_other_modes_can_still_be_set": _LOOKS,
    "test_extended_attributes_look_unsupported_in_the_sandbox": _LOOKS,
    "test_a_file_cannot_grow_past_its_limit": _LOOKS,
    "test_endlessly_nested_folders_are_cut": _LOOKS,
    "test_a_gigabyte_of_output_is_cut_and_stopped": "a command's output is cut at fewer characters",
}
"""Attacks that cannot be made by a command, and why."""


async def attack(
    sandbox: Sandbox,
    folder: Path,
    program: str,
    *arguments: str,
    limits: SandboxLimits = SOON,
    readable: Sequence[Path] = (),
    mark: str = "",
) -> Executed:
    """Run a program in Python by a command, in a workspace with the files of `folder`."""
    assert not readable
    mark, name = mark or new_mark(), uuid.uuid4().hex
    home = anchored(folder).parent
    user = UserRepository(home / f"user-{name}", {})
    shutil.copytree(folder, user.folder, symlinks=True, dirs_exist_ok=True)
    user.commit("Files")
    workspace = await open_workspace(user.folder, "run", sandbox, home=home / f"run-{name}")
    before = user.fingerprint()
    limited = Sandbox(sandbox._tier, sandbox.reason, limits=limits)  # pyright: ignore[reportPrivateUsage]
    command = shlex.join([sys.executable, "-I", "-S", "-c", program, *arguments])
    result = await run_command(workspace, limited, f"MARK={mark} exec {command}", seconds=limits.seconds)
    assert running_with(mark) == []
    assert user.fingerprint() == before
    shutil.rmtree(user.folder)
    remove_folder(workspace.home)
    return Executed(
        argv=(),
        exit_code=result.exit_code,
        stdout=result.output,
        stderr=result.output,
        stopped_by=result.stopped_by,
        warnings=tuple(line for line in result.warnings if not line.startswith(("Not kept", "None of"))),
    )


@pytest.fixture(autouse=True)
def _through_commands(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    for module in MODULES:
        monkeypatch.setattr(module, "attack", attack, raising=False)


for module in MODULES:
    for name, probe in vars(module).items():
        if not name.startswith("test_") or name in ELSEWHERE or " attack(" not in inspect.getsource(probe):
            continue
        if "unsandboxed" not in inspect.signature(probe).parameters:
            globals()[name] = probe
