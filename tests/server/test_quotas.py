"""What users may spend: for ever, this month, today; alone and in many requests at once."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from podium.engine.budget import Budget
from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.engine.log import Row, RunRow
from podium.server.problems import RefusedError
from podium.server.quotas import UserQuotas
from podium.server.users import User, add_user
from podium.stores import open_store
from tests.server.serving import served, started, until
from tests.stores.postgres import Server

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
KEY = "scrypt$" + "A" * 22 + "==$" + "A" * 43 + "="


def us(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp() * 1e6)  # pyright: ignore[reportArgumentType]


def spent(number: int, usd: float, created_us: int, updated_us: int, **more: object) -> RunRow:
    return RunRow(
        run_id=f"run-{number:06d}",
        workflow="x",
        request="x",
        owner="alice",
        usage=Charge(usd=usd),
        created_us=created_us,
        updated_us=updated_us,
        **{"status": "completed", **more},  # pyright: ignore[reportArgumentType]
    )


async def test_days_and_months_count_what_was_spent_in_them(tmp_path: Path) -> None:
    alice = User(name="alice", key=KEY, budget_usd=100, usd_per_month=50, usd_per_day=20)
    async with open_store(str(tmp_path / "x.sqlite")) as store:
        await store.create(spent(1, 7.0, us(2026, 2, 27), us(2026, 2, 28)), [])
        await store.create(spent(2, 5.0, us(2026, 3, 2), us(2026, 3, 3)), [])
        await store.create(spent(3, 3.0, us(2026, 3, 31, 8), us(2026, 3, 31, 9)), [])
        overnight = [
            Row(1, us(2026, 3, 30, 23), "", "run.created", encode({"workflow": "x", "request": "x"})),
            Row(2, us(2026, 3, 30, 23, 30), "a", "step.completed", encode({"charge": {"usd": 1.0}})),
            Row(3, us(2026, 3, 31, 1), "b", "step.completed", encode({"charge": {"usd": 0.5}})),
        ]
        held = Budget(usd=4.0)
        row = spent(4, 1.5, us(2026, 3, 30, 23), us(2026, 3, 31, 1), status="paused", budget=held)
        await store.create(row, overnight)
        money = await UserQuotas(store).money("alice", alice, NOW)
        assert (money.spent, money.reserved) == (16.5, 2.5)
        shown = [
            (allowance.period, allowance.spent, allowance.left(money.reserved))
            for allowance in money.allowances
        ]
        assert shown == [("total", 16.5, 81.0), ("month", 9.5, 38.0), ("day", 3.5, 14.0)]
        renewed = [allowance.renewed for allowance in money.allowances]
        assert renewed == [None, datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)]


def test_the_tightest_limit_counts_and_says_when_it_is_renewed(tmp_path: Path) -> None:
    file = tmp_path / "users.toml"
    key = add_user(file, "alice", {"budget_usd": 100.0, "usd_per_month": 50.0, "usd_per_day": 3.0})
    with served(tmp_path, users=file) as server, server.client(key) as alice:
        first = started(alice, "tree", "a garden", approve=["plan"])
        assert until(alice, first, "waiting")["budget"]["usd"] == pytest.approx(
            0.3
        )  # a tenth of the smallest
        refused = alice.post("/api/runs", json={"workflow": "tree", "request": "x", "budget": {"usd": 2.8}})
        assert refused.status_code == 422
        shown = refused.json()
        assert shown["error"] == "$2.70 is left of your budget for today; this run asks for $2.80."
        assert "renewed on 20" in shown["hint"]
        left = {
            allowance["period"]: allowance["left_usd"]
            for allowance in alice.get("/api/me").json()["allowances"]
        }
        assert left == {"total": 99.7, "month": 49.7, "day": 2.7}


async def test_fifty_starts_at_once_never_pass_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "users.toml"
    key = add_user(file, "alice", {"budget_usd": 10.0, "max_runs": 1, "max_queued": 100})
    with served(tmp_path, users=file) as server:
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(base_url=server.base, headers=headers, timeout=120) as client:
            assert (await client.get("/api/me")).status_code == 200  # the key is known from here on
            body = {"workflow": "tree", "request": "x", "budget": {"usd": 1.0}, "approve": ["plan"]}
            answers = await asyncio.gather(*(client.post("/api/runs", json=body) for _ in range(50)))
            counts = {status: [a.status_code for a in answers].count(status) for status in (202, 422)}
            assert counts == {202: 10, 422: 40}
            me = (await client.get("/api/me")).json()
            assert me["spent_usd"] + me["reserved_usd"] == pytest.approx(10.0)


def test_a_ceiling_that_waits_in_the_queue_is_held_back_already(tmp_path: Path) -> None:
    file = tmp_path / "users.toml"
    key = add_user(file, "alice", {"budget_usd": 10.0, "max_runs": 1})
    with served(tmp_path, users=file) as server, server.client(key) as alice:
        first = started(alice, "tree", "a garden", approve=["plan"], budget={"usd": 1.0})
        until(alice, first, "waiting")
        assert alice.post(f"/api/runs/{first}/resume", json={"budget": {"usd": 9.0}}).status_code == 202
        assert alice.get("/api/me").json()["reserved_usd"] == pytest.approx(9.0)
        more = {"workflow": "tree", "request": "x", "budget": {"usd": 2.0}}
        assert alice.post("/api/runs", json=more).status_code == 422


async def test_on_a_store_for_many_machines_an_account_holds_and_nothing_is_held_back(
    pg_server: Server,
) -> None:
    """Ceilings of runs may come to more than is left: what they spend together may not."""
    alice = User(name="alice", key=KEY, budget_usd=10, usd_per_day=4)
    async with open_store(pg_server.new_place()) as store:
        now = int(datetime.now(UTC).timestamp() * 1e6)
        await store.create(spent(1, 1.0, now, now), [])
        for number in range(2, 8):
            budget = await UserQuotas(store).ceiling(alice, Budget(usd=3.0))
            await store.create(spent(number, 0.0, now, now, status="queued", budget=budget), [])
        assert store.limits is not None
        account = await store.limits.set_account("alice", 4.0)
        assert account.taken_usd == 1.0
        with pytest.raises(RefusedError, match="today"):
            await UserQuotas(store).ceiling(alice, Budget(usd=3.5))


async def test_a_store_with_absurd_figures_serves_accounts_and_metrics(tmp_path: Path) -> None:
    """Sums that pass 64 bits and infinite money, as an earlier version wrote them."""
    file = tmp_path / "podium.sqlite"
    async with open_store(str(file)) as store:
        for number in (1, 2):
            await store.create(spent(number, 1.0, us(2026, 1, 1), us(2026, 1, 2)), [])
    db = sqlite3.connect(file)
    db.execute("UPDATE run SET owner = '', usd = 9e999, input_tokens = 9223372036854775807")
    db.commit()
    db.close()
    with served(tmp_path) as server, server.client() as client:
        answers = [client.get(f"/api/{name}") for name in ("me", "metrics", "runs", "ready")]
        assert [answer.status_code for answer in answers] == [200] * 4
        assert "podium_tokens{" in answers[1].text
        assert len(answers[2].json()["runs"]) == 2
