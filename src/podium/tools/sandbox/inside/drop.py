"""Program: root's entry into the sandbox, as a spare user that can still write to the workspace.

The spare user may not enter root's folders, and would own nothing. So the visible folders are first mounted
in a separate place, in a private mount namespace. Writable folders are id-mapped there: the spare user
appears as their owner. Files that the program writes are stored as the original owner's, so nothing has to be
given back, not even after a crash.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from typing import Any

from podium.tools.sandbox.inside import kernel

STAGE = "/tmp"
"""Mount point for the folders: every user may enter it, and only this process sees its mounts."""


def main() -> None:
    """Read the plan, mount the folders, drop to the spare user, and exec the plan's program."""
    plan: dict[str, Any] = json.loads(sys.argv[1])
    spare = int(plan["spare"])
    program = os.open(plan["argv"][0], os.O_RDONLY)  # opened while root can still reach it
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
    """Clone a file or folder as the spare user sees it: the spare user appears in place of its owner."""
    tree, owner = kernel.clone_tree(source), os.stat(source)
    kernel.map_owners(tree, exchanged(owner.st_uid, owner.st_gid, spare))
    return tree


@functools.cache
def exchanged(user: int, group: int, spare: int) -> int:
    """Return a user namespace that swaps an owner and the spare user. Cached: creating one takes a process,
    and most folders have the same owner."""
    return kernel.user_namespace(exchange(user, spare), exchange(group, spare))


def hang_up(tree: int, place: str, *, is_folder: bool) -> None:
    """Mount one file or folder."""
    if is_folder:
        os.mkdir(place)
    else:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY))
    kernel.hang(tree, place)
    os.close(tree)


def exchange(owner: int, spare: int) -> str:
    """Return an id map that swaps two ids and keeps all others."""
    low, high = sorted((owner, spare))
    parts = [
        (0, 0, low),
        (low, high, 1),
        (low + 1, low + 1, high - low - 1),
        (high, low, 1),
        (high + 1, high + 1, known_ids() - high - 1),
    ]
    return "".join(f"{inside} {outside} {count}\n" for inside, outside, count in parts if count > 0)


def known_ids() -> int:
    """Return the number of ids mapped here, which is limited in some containers."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        return int(file.readline().split()[2])


if __name__ == "__main__":
    main()
