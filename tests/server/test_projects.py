"""Which folders of the server's machine users may have changed: those that the operator named, no others."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from podium.errors import UsageError
from podium.server.http_server import Serving, check
from podium.server.permissions import project_folder
from podium.server.problems import RefusedError
from podium.server.users import add_user
from podium.settings import Settings
from tests.server.conftest import Shared
from tests.server.serving import done, served
from tests.workflows.build.team import git, repository

GOAL = "Write a function that adds two numbers in calc.py with tests"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """`projects/USER`, and what lies beside it and belongs to others."""
    for place in ("projects/alice/shop", "projects/bob/bank", "private/secret"):
        repository(tmp_path / place)
    (tmp_path / "projects/alice/plain").mkdir()
    return tmp_path / "projects"


@pytest.fixture
def both(tmp_path: Path, root: Path) -> Generator[Shared]:
    file = tmp_path / "users.toml"
    keys = {name: add_user(file, name, {}) for name in ("alice", "bob")}
    with served(tmp_path, users=file, workspaces=f"{root}/{{user}}") as running:
        yield Shared(running, keys)


def options_of(client: httpx2.Client) -> set[str]:
    return {option["name"] for option in client.get("/api/workflows/build").json()["options"]}


def start(client: httpx2.Client, **options: object) -> httpx2.Response:
    return client.post("/api/runs", json={"workflow": "build", "request": GOAL, "options": options})


def test_a_user_has_a_project_of_theirs_changed(both: Shared, root: Path) -> None:
    with both.of("alice") as client:
        assert options_of(client) == {"workspace", "test_command", "max_iterations"}
        started = start(client, workspace="shop")
        assert started.status_code == 202, started.text
        run_id = started.json()["run_id"]
        assert done(client, run_id)["status"] == "completed"
    assert git(root / "alice/shop", "show", f"podium/{run_id}:calc.py")
    with both.of("bob") as client:
        refused = start(client, workspace="../alice/shop")
        assert (refused.status_code, refused.json()["error"]) == (
            403,
            "There is no project ../alice/shop here.",
        )
        assert start(client, allow_unsandboxed=True).status_code == 403


def test_without_a_folder_of_projects_none_can_be_named(shared: Shared, tmp_path: Path) -> None:
    with shared.of("alice") as client:
        assert options_of(client) == {"max_iterations"}
        assert start(client, test_command="true").status_code == 403
        assert start(client, workspace=str(repository(tmp_path / "shop"))).status_code == 403


def test_a_project_is_found_by_its_name_or_its_whole_path(root: Path) -> None:
    for name in ("shop", "./shop", f"{root}/alice/shop", "plain"):
        folder = project_folder(f"{root}/{{user}}", "alice", name)
        assert folder == str(root / "alice" / name.rpartition("/")[2])
    assert project_folder(str(root), "alice", "bob/bank") == str(root / "bob/bank"), "shared by everybody"


def planted(root: Path) -> dict[str, str]:
    """Folders that look like projects and lead elsewhere."""
    mine, secret = root / "alice", root.parent / "private/secret"
    (mine / "link").symlink_to(secret)
    (mine / "pointing").mkdir()
    (mine / "pointing/.git").write_text(f"gitdir: {secret}/.git\n")
    repository(mine / "borrowing")
    info = mine / "borrowing/.git/objects/info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{secret}/.git/objects\n")
    (mine / "linked").mkdir()
    (mine / "linked/.git").symlink_to(secret / ".git")
    return {"a link": "link", "a file": "pointing", "borrowed objects": "borrowing", "a linked one": "linked"}


@pytest.mark.parametrize("way", ["a link", "a file", "borrowed objects", "a linked one"])
def test_what_leads_elsewhere_is_refused(root: Path, way: str) -> None:
    with pytest.raises(RefusedError, match="There is no project"):
        project_folder(f"{root}/{{user}}", "alice", planted(root)[way])


@pytest.mark.parametrize(
    "name", ["..", ".", "../bob/bank", "/etc", "/", "nothing", "shop/README.md", "a\0b", "~"]
)
def test_what_is_no_project_is_refused(root: Path, name: str) -> None:
    with pytest.raises(RefusedError, match="There is no project"):
        project_folder(f"{root}/{{user}}", "alice", name)


def test_a_repository_above_the_projects_is_not_worked_on(root: Path) -> None:
    """`plain` is in no repository of its own; git would take the one above."""
    os.rename(root.parent / "private/secret/.git", root / ".git")
    with pytest.raises(RefusedError, match="There is no project"):
        project_folder(f"{root}/{{user}}", "alice", "plain")


def test_a_folder_of_projects_that_is_not_there_is_reported_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no folder"):
        check(Serving(settings=Settings(), workspaces=f"{tmp_path}/nowhere/{{user}}"))
    check(Serving(settings=Settings(), workspaces=f"{tmp_path}/{{user}}"))
