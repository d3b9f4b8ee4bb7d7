"""Root's way into the sandbox: become a spare user who can still write the workspace.

The spare user may not enter root's folders, and would own nothing. So what it shall see is first hung up in a
place of its own, in mounts that only this process has, and writable folders are shown there with their owner
exchanged for the spare user (an id-mapped mount). Files that the program writes are stored as the owner's:
nothing is handed over, and nothing has to be given back, not even after a crash.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from typing import Any

from podium.tools.sandbox.inside import kernel

STAGE = "/tmp"
"""Where things are hung up: everybody may enter it, and only this process sees what is hung there."""


def main() -> None:
    """Read the plan, hang up the folders, drop to the spare user, become the program of the plan."""
    plan: dict[str, Any] = json.loads(sys.argv[1])
    spare = int(plan["spare"])
    program = os.open(plan["argv"][0], os.O_RDONLY)  # while we may still go where it is
    os.set_inheritable(program, False)
    kernel.own_mounts()
    trees = [(take(source, spare), os.path.isdir(source)) for source in plan["sources"]]
    kernel.mount_memory(STAGE)
    for number, (tree, is_folder) in enumerate(trees):
        hang_up(tree, f"{STAGE}/{number}", is_folder=is_folder)
    os.chdir("/")
    os.setgroups([])
    os.setresgid(spare, spare, spare)
    os.setresuid(spare, spare, spare)
    kernel.control(kernel.NO_NEW_PRIVILEGES)
    os.execve(program, plan["argv"], os.environ)


def take(source: str, spare: int) -> int:
    """A file or folder as the spare user shall see it: what is its owner's is the spare user's."""
    tree, found = kernel.clone_tree(source), os.stat(source)
    kernel.map_owners(tree, exchanged(found.st_uid, found.st_gid, spare))
    return tree


@functools.cache
def exchanged(user: int, group: int, spare: int) -> int:
    """A user namespace in which an owner and the spare user have changed places. It takes a process to make
    one, and most folders have the same owner."""
    return kernel.user_namespace(exchange(user, spare), exchange(group, spare))


def hang_up(tree: int, place: str, *, is_folder: bool) -> None:
    """Hang up one file or folder."""
    if is_folder:
        os.mkdir(place)
    else:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY))
    kernel.hang(tree, place)
    os.close(tree)


def exchange(owner: int, spare: int) -> str:
    """A map of ids in which two have changed places, and everybody else is who they are."""
    low, high = sorted((owner, spare))
    parts = [
        (0, 0, low), (low, high, 1), (low + 1, low + 1, high - low - 1),
        (high, low, 1), (high + 1, high + 1, known_ids() - high - 1),
    ]  # fmt: skip
    return "".join(f"{inside} {outside} {count}\n" for inside, outside, count in parts if count > 0)


def known_ids() -> int:
    """How many ids there are here: fewer than all in some containers."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        return int(file.readline().split()[2])


if __name__ == "__main__":
    main()
