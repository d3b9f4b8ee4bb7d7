"""A page that is open while its server dies and comes back, or while another process drives a run."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.cli.shell import Shell
from tests.server.serving import Served, done, flow, started, until
from tests.ui.browsing import Visitor, needs_ui

pytestmark = needs_ui


class House:
    """`podium serve` as a process of its own, always at the same port."""

    def __init__(self, folder: Path) -> None:
        self.shell = Shell(folder)
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = str(probe.getsockname()[1])
        self.process, self.served = self.start()

    def start(self) -> tuple[subprocess.Popen[bytes], Served]:
        process = self.shell.start("serve", "--port", self.port, "--json", PODIUM_MODEL="rehearsal")
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.stderr.read().decode() if process.stderr else ""
        return process, Served(json.loads(line)["address"], self.folder)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def again(self) -> None:
        self.process, self.served = self.start()

    def waiting_run(self) -> str:
        """Start a run that waits until `end_run` creates a file."""
        with self.served.client() as client:
            run_id = started(client, flow("waits"), str(self.folder / "gate"))
            until(client, run_id, "running")
        return run_id

    def end_run(self) -> None:
        (self.folder / "gate").touch()


@pytest.fixture
def house(tmp_path: Path) -> Generator[House]:
    running = House(tmp_path)
    yield running
    running.shell.close()


@pytest_asyncio.fixture(loop_scope="session")
async def guest(browser: Browser, house: House) -> AsyncGenerator[Visitor]:
    context = await browser.new_context()
    visitor = Visitor(await context.new_page(), house.served)
    await visitor.enter()
    yield visitor
    await context.close()
    assert visitor.errors == []


async def _restart(house: House, guest: Visitor) -> None:
    """Kill the server under an open page, let the run end, and start the server again."""
    house.kill()
    await guest.see(guest.page.get_by_text("Reconnecting… nothing is lost"))
    house.end_run()
    house.again()


async def test_a_page_outlives_its_server_and_shows_the_whole_run(house: House, guest: Visitor) -> None:
    page, run_id = guest.page, house.waiting_run()
    await guest.go(f"/runs/{run_id}?tab=transcript")
    await guest.see(page.locator(".event", has_text="first"))
    loads = guest.loads
    await _restart(house, guest)
    await guest.see(guest.status("completed"))
    await page.get_by_text("Reconnecting…").wait_for(state="detached")
    with house.served.client() as client:
        done(client, run_id)
        log = client.get(f"/api/runs/{run_id}/events").json()["events"]
    assert guest.loads == loads, "it came back by itself"
    await expect(page.locator(".event .num:first-child")).to_have_text([str(event["seq"]) for event in log])


async def test_a_graph_is_whole_again_after_its_server_came_back(house: House, guest: Visitor) -> None:
    """The patches meanwhile are lost: a new connection begins with a complete view."""
    page, run_id = guest.page, house.waiting_run()
    await guest.go(f"/runs/{run_id}?tab=graph")
    await guest.see(page.locator(".box.running", has_text="second"))
    await _restart(house, guest)
    await guest.see(page.locator(".box.completed", has_text="second"))
    await guest.see(guest.status("completed"))


async def test_a_run_of_another_process_shows_up_in_the_list_and_live(
    house: House, guest: Visitor, tmp_path: Path
) -> None:
    page, gate = guest.page, tmp_path / "gate"
    await guest.go("/")
    loads = guest.loads
    house.shell.start("run", flow("waits"), str(gate), "--json", PODIUM_MODEL="rehearsal")
    await page.locator(".runs tbody tr", has_text="running").get_by_role("link").click()
    await page.get_by_role("link", name="graph").click()
    await guest.see(page.locator(".box.running", has_text="second"))
    gate.touch()
    await guest.see(page.locator(".box.completed", has_text="second"))
    await guest.see(guest.status("completed"))
    assert guest.loads == loads
