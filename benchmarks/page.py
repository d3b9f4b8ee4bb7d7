"""The page of a large run in a real Chromium: `python -m benchmarks.page`.

A tree of 2,000 nodes with 20,000 events lies in a store, and goes on while the page is open: another process
holds it and appends. Measured are how soon the page can be used, what its process holds, and what each update
costs the page's only thread. Needs Chromium, Playwright and a built web UI.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, cast

import msgspec
from playwright.async_api import CDPSession, Page, async_playwright

from benchmarks.forest import RUN, events_of, rows_of, summary_of
from benchmarks.server import serving
from podium.engine.log import Lease, Row, Store
from podium.stores import open_store

TABS = {
    "overview": ".activity .line",
    "graph": ".box",
    "timeline": ".bar",
    "transcript": ".event",
}
"""Parts of the page, and what shows that one can be used."""
USABLE = """selector => [...document.querySelectorAll(selector)].some(one => {
  const at = one.getBoundingClientRect();
  const hit = document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2);
  return hit !== null && one.contains(hit);
})"""
"""Something of it lies under the pointer."""
WATCH = """() => {
  window.busy = [];
  new PerformanceObserver(list => list.getEntries().forEach(one => window.busy.push(one.duration)))
    .observe({ type: "long-animation-frame", buffered: false });
}"""


class Looked(msgspec.Struct, frozen=True):
    """One part of the page."""

    tab: str
    usable_s: float
    """From the address to the first thing that can be clicked."""
    heap_mb: float
    process_mb: float
    """What the process of the page holds for itself (RssAnon)."""
    updates: int
    update_ms: float
    """Computing time of the page's thread for one update: whatever else the machine does is not in it."""
    update_max_ms: float
    """The longest time without a new frame, if any took more than 50 ms."""


async def append(store: Store, lease: Lease, seq: int, updates: int) -> int:
    """Nodes that come in while somebody looks: ten events each, ten of them a second."""
    for number in range(updates):
        for path, kind, data in events_of(f"root/{seq + number}-late", "root"):
            seq += 1
            store.append(lease, Row(seq, time.time_ns() // 1000, path, kind, msgspec.json.encode(data)))
        store.commit(lease)
        await asyncio.sleep(0.1)
    return seq


async def tell(session: CDPSession, method: str, **given: str) -> Any:
    """A command of Chromium's own protocol."""
    return await cast("Any", session).send(method, given)


async def figures(session: CDPSession) -> dict[str, float]:
    found = await tell(session, "Performance.getMetrics")
    return {one["name"]: one["value"] for one in found["metrics"]}


def held_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1000
    return 0.0


async def renderer(page: Page) -> int:
    """The process of the page: the one that holds the most."""
    assert page.context.browser is not None
    session = await page.context.browser.new_browser_cdp_session()
    found = await tell(session, "SystemInfo.getProcessInfo")
    return max((one["id"] for one in found["processInfo"] if one["type"] == "renderer"), key=held_mb)


async def look(page: Page, base: str, tab: str, store: Store, lease: Lease, seq: int) -> tuple[Looked, int]:
    session = await page.context.new_cdp_session(page)
    await tell(session, "Performance.enable", timeDomain="threadTicks")
    began = time.perf_counter()
    await page.goto(f"{base}runs/{RUN}?tab={tab}", wait_until="commit")
    while not await page.evaluate(USABLE, TABS[tab]):  # noqa: ASYNC110 - it is what is measured
        await asyncio.sleep(0.02)
    usable = time.perf_counter() - began
    await page.wait_for_timeout(3000)  # what is left of loading is not an update
    await tell(session, "HeapProfiler.collectGarbage")
    before, updates = await figures(session), 30
    await page.evaluate(WATCH)
    seq = await append(store, lease, seq, updates)
    await page.wait_for_timeout(500)
    after = await figures(session)
    busy: list[float] = await page.evaluate("window.busy")
    spent = (after["TaskDuration"] - before["TaskDuration"]) * 1000
    found = Looked(
        tab=tab,
        usable_s=round(usable, 2),
        heap_mb=round(after["JSHeapUsedSize"] / 1e6, 1),
        process_mb=round(held_mb(await renderer(page)), 1),
        updates=updates,
        update_ms=round(spent / updates, 1),
        update_max_ms=round(max(busy, default=0.0), 1),
    )
    return found, seq


async def measure(folder: Path, nodes: int) -> list[Looked]:
    rows = rows_of(nodes)
    found: list[Looked] = []
    async with open_store(f"sqlite:///{folder / 'podium.sqlite'}") as store:
        await store.create(summary_of(nodes), rows)
        lease, seq = await store.acquire(RUN), len(rows)
        async with serving(folder, 20) as client, async_playwright() as playwright:
            base, token = str(client.base_url), client.headers["Authorization"].removeprefix("Bearer ")
            for tab in TABS:
                browser = await playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                page = await browser.new_page(viewport={"width": 1440, "height": 900})
                await page.goto(f"{base}?token={token}")
                looked, seq = await look(page, base, tab, store, lease, seq)
                found.append(looked)
                await browser.close()
        await store.release(lease)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=2000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(Path(folder), given.nodes))
    print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    print(
        "usable within",
        max(one.usable_s for one in found),
        "s; an update takes the thread",
        statistics.median(one.update_ms for one in found),
        "ms",
    )


if __name__ == "__main__":
    main()
