"""Which sandbox is in force, why, and what happens when there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from podium.errors import SandboxUnavailableError, SettingsError
from podium.settings import SandboxOptions, Settings
from podium.tools.sandbox.inside import kernel as landlock
from podium.tools.sandbox.landlock import Unsandboxed
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.seccomp import machine
from podium.tools.sandbox.selection import find_leak, limits_of, open_sandbox
from podium.tools.sandbox.tier import Launch, SandboxJob, SandboxLimits
from tests.tools.sandbox.attack import attack


def namespaces_are_permitted() -> bool:
    """Whether this user can make a user namespace with a process namespace in it, as bubblewrap does."""
    unshare = shutil.which("unshare")
    command = [unshare or "", "--user", "--pid", "--net", "--mount", "--fork", "--mount-proc", "true"]
    return bool(unshare) and subprocess.run(command, capture_output=True).returncode == 0


async def test_the_tier_in_force_is_the_one_that_this_machine_can_have() -> None:
    """Fails where bubblewrap is installed and permitted, but not used: the others would just be skipped."""
    if not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not installed: `make system` as root")
    if not namespaces_are_permitted():
        pytest.skip("this machine does not let users make namespaces")
    sandbox = await open_sandbox(Settings())
    assert (sandbox.tier, sandbox.warning) == ("bubblewrap", "")
    assert sandbox.reason.startswith("bubblewrap works here")


async def test_the_second_tier_holds_where_the_kernel_has_it() -> None:
    """Fails where Landlock is there but not used: all tests of this tier would just be skipped."""
    if not landlock.version() or machine() is None:
        pytest.skip("this kernel has no Landlock, or no filter is known for this processor")
    sandbox = await open_sandbox(Settings(sandbox=SandboxOptions(tier="landlock")))
    assert (sandbox.tier, sandbox.warning) == ("landlock", "")


async def test_a_sandbox_that_was_opened_has_no_leak(sandbox: Sandbox) -> None:
    assert await find_leak(sandbox) == ""
    assert sandbox.reason.startswith(f"{sandbox.tier} works here")


@pytest.mark.skipif(not Path("/proc/self/ns").exists(), reason="the keeper needs Linux")
async def test_the_probe_finds_what_is_open_without_a_sandbox() -> None:
    leak = await find_leak(Sandbox(Unsandboxed(), ""))
    words = ["filter", "privileges", "files of the user can be read", "can be written", "network", "sockets"]
    words += ["still run as root", "keep capabilities"] if os.geteuid() == 0 else []
    assert [word for word in words if word not in leak] == []
    assert "environment" not in leak, "that is not handed on even so"


class Open(Unsandboxed):
    """Hands its own environment on."""

    def launch(self, job: SandboxJob) -> Launch:
        return msgspec.structs.replace(super().launch(job), env=dict(os.environ))


@pytest.mark.skipif(not Path("/proc/self/ns").exists(), reason="the keeper needs Linux")
async def test_the_probe_finds_an_environment_that_is_handed_on() -> None:
    environment = dict(os.environ)
    assert "the environment can be seen" in await find_leak(Sandbox(Open(), ""))
    assert dict(os.environ) == environment


def own_copy_of_bubblewrap(folder: Path) -> Settings:
    program = shutil.which("bwrap")
    if program is None:
        pytest.skip("bubblewrap is not installed")
    shutil.copy(program, folder / "bwrap")
    return Settings(sandbox=SandboxOptions(tier="bubblewrap", bubblewrap=str(folder / "bwrap")))


async def test_bubblewrap_removed_between_two_steps_leads_to_refusal(tmp_path: Path, workspace: Path) -> None:
    settings = own_copy_of_bubblewrap(tmp_path)
    try:
        sandbox = await open_sandbox(settings)
    except SandboxUnavailableError as error:
        pytest.skip(f"bubblewrap does not work here: {error}")
    assert (await sandbox.run(["touch", "first"], folder=workspace)).ok
    os.remove(tmp_path / "bwrap")
    with pytest.raises(SandboxUnavailableError, match="no longer exists") as caught:
        await sandbox.run(["touch", "second"], folder=workspace)
    assert "bubblewrap" in caught.value.hint
    assert os.listdir(workspace) == ["first"]


async def test_a_bubblewrap_that_breaks_between_two_steps_leads_to_refusal(
    tmp_path: Path, workspace: Path
) -> None:
    settings = own_copy_of_bubblewrap(tmp_path)
    try:
        sandbox = await open_sandbox(settings)
    except SandboxUnavailableError as error:
        pytest.skip(f"bubblewrap does not work here: {error}")
    (tmp_path / "bwrap").unlink()
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho no namespaces today >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    with pytest.raises(SandboxUnavailableError, match="could not be set up"):
        await sandbox.run(["touch", "second"], folder=workspace)
    assert os.listdir(workspace) == []


NOWHERE = Settings(sandbox=SandboxOptions(tier="bubblewrap", bubblewrap="/nowhere/bwrap"))
"""A machine that cannot have what its settings ask for."""


async def test_without_a_sandbox_nothing_is_opened_and_the_reason_is_reported() -> None:
    with pytest.raises(SandboxUnavailableError, match="/nowhere/bwrap") as caught:
        await open_sandbox(NOWHERE)
    assert "--allow-unsandboxed" in caught.value.hint


@pytest.mark.skipif(not Path("/proc/self/ns").exists(), reason="looks for leftovers in /proc")
async def test_what_was_allowed_unsandboxed_says_so_keeps_limits_and_leaves_nothing(workspace: Path) -> None:
    sandbox = await open_sandbox(NOWHERE, allow_unsandboxed=True)
    assert sandbox.tier == "none"
    assert "all your permissions" in sandbox.warning
    assert "/nowhere/bwrap" in sandbox.warning
    program = (
        "import os, time\n"
        "if os.fork() == 0: os.setsid(); time.sleep(300)\n"
        "print('PODIUM_SECRET' in os.environ)\n"
        "while True: time.sleep(1)"
    )
    result = await attack(sandbox, workspace, program, limits=SandboxLimits(seconds=2))
    assert (result.tier, result.stopped_by) == ("none", "time")


def test_the_limits_come_from_the_settings(tmp_path: Path) -> None:
    (tmp_path / "podium.toml").write_text(
        '[sandbox]\ntime = "90s"\ncpu = "2m"\nmemory = "500MB"\nprocesses = 10\nfile_size = "1MB"\n'
        'output = "2MB"\nworkspace = "3GB"\nfiles = 7000\nopen_files = 99\n'
        'readable = ["tools"]\nbubblewrap = "bin/bwrap"\n'
    )
    options = Settings.load(tmp_path, {"PODIUM_CONFIG": ""}).sandbox
    assert limits_of(options) == SandboxLimits(
        seconds=90,
        cpu_seconds=120,
        memory_bytes=500_000_000,
        processes=10,
        file_bytes=1_000_000,
        output_bytes=2_000_000,
        workspace_bytes=3_000_000_000,
        files=7000,
        open_files=99,
    )
    assert options.readable == [str(tmp_path / "tools")]
    assert options.bubblewrap == str(tmp_path / "bin" / "bwrap")
    assert limits_of(SandboxOptions()) == SandboxLimits()


@pytest.mark.parametrize(
    "line", ["memory = 0", 'time = "soon"', 'tier = "none"', "processes = 0", "files = 0", 'memroy = "1GB"']
)
def test_a_wrong_setting_is_refused_with_its_place(tmp_path: Path, line: str) -> None:
    (tmp_path / "podium.toml").write_text(f"[sandbox]\n{line}\n")
    with pytest.raises(SettingsError, match=r"`sandbox` in .*podium.toml"):
        Settings.load(tmp_path, {"PODIUM_CONFIG": ""})
