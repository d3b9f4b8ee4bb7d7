"""What a user gets: the built wheel in an environment of its own, without Node and without a network."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from tests.server.serving import PATIENCE_S, Served, done, started
from tests.ui.browsing import BUILT, CHROMIUM, ROOT, Visitor, needs_ui

pytestmark = needs_ui

ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""A browser that can reach this machine and nothing else."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment's programs, into which the wheel was installed. What Podium depends on
    comes from the environment of these tests; Podium itself, which is only linked there, does not."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    clean = folder / "clean"
    venv.create(clean)
    site = clean / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [sys.executable, "-m", "pip", "--python", str(clean / "bin" / "python"), "install", "-q"]
    subprocess.run([*install, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)
    return clean / "bin"


@pytest.fixture
def served_wheel(programs: Path, tmp_path: Path) -> Generator[Served]:
    env = {"PATH": str(programs), "HOME": str(tmp_path), "PODIUM_MODEL": "rehearsal"}
    with subprocess.Popen(
        [programs / "podium", "serve", "--port", "0", "--json", "--store", str(tmp_path / "x.sqlite")],
        stdout=subprocess.PIPE,
        env=env,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        try:
            yield Served(json.loads(process.stdout.readline())["address"], tmp_path)
        finally:
            process.terminate()
            assert process.wait(PATIENCE_S) == 0


def test_it_is_the_wheel_that_is_used_and_node_is_not_there(programs: Path, tmp_path: Path) -> None:
    env = {"PATH": str(programs), "HOME": str(tmp_path)}
    code = "import podium, shutil; print(podium.__file__, shutil.which('node'), shutil.which('npm'))"
    completed = subprocess.run(
        [programs / "python", "-c", code], env=env, cwd=tmp_path, check=True, capture_output=True, text=True
    )
    file, node, npm = completed.stdout.split()
    assert Path(file).is_relative_to(programs.parent)
    assert (node, npm) == ("None", "None")


def test_built_files_are_served_by_their_hashes_and_kept_for_ever(served_wheel: Served) -> None:
    with served_wheel.client() as client:
        page = client.get("/")
        assert page.headers["cache-control"] == "no-cache"
        named: list[str] = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert named
        assert not any(address.startswith(("http:", "https:", "//")) for address in named)
        scripts = [address for address in named if address.endswith((".js", ".css"))]
        assert len(scripts) >= 2
        for address in scripts:
            assert re.search(r"-[\w-]{8,}\.(js|css)$", address), address
            answer = client.get(address)
            assert (answer.status_code, answer.headers["cache-control"]) == (
                200,
                "public, max-age=31536000, immutable",
            )
            assert answer.content == (BUILT.parent / address.lstrip("/")).read_bytes()


async def test_a_run_is_watched_in_a_browser_that_can_reach_nothing_else(served_wheel: Served) -> None:
    with served_wheel.client() as client:
        run_id = started(client, "tree", "Plan a weekend in Lisbon")
        done(client, run_id)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", ALONE])
        visitor = Visitor(await browser.new_page(), served_wheel)
        await visitor.enter()
        await visitor.see(visitor.page.locator(".runs tbody tr", has_text="Lisbon"))
        for tab in ("overview", "graph", "transcript"):
            await visitor.go(f"/runs/{run_id}?tab={tab}")
            await visitor.see(visitor.status("completed"))
        await browser.close()
        assert (visitor.errors, visitor.foreign) == ([], [])
