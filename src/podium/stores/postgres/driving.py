"""Taking runs up and letting go of them: the half of the store that decides who drives."""

from __future__ import annotations

from podium.engine.log import this_process
from podium.errors import RunLockedError
from podium.stores.batch import ROW_WIDTH, HeldLease, Job, Standing
from podium.stores.commits import Report
from podium.stores.errands import heard
from podium.stores.holding import Holding
from podium.stores.postgres.database import Db
from podium.stores.postgres.presence import Presence
from podium.stores.postgres.reading import Reader
from podium.stores.postgres.watch import Herald, Watch
from podium.stores.postgres.writer import Writer


class Driving(Holding):
    """A run is driven by the process whose mark it bears, as long as that process is heard of."""

    def __init__(self, url: str, writer: Writer, reader: Reader, lease_s: float) -> None:
        self._durable: dict[int, int] = {}
        """By run number, of those that this process drives: up to where the log is known to be durable."""
        self._watch = Watch(url, reader, self._durable)
        super().__init__(writer, self._watch)
        self._writer = writer
        self._reader = reader
        self._herald = Herald(reader)
        self._presence = Presence(url, lease_s, self._look_at_leases)

    def _join(self) -> str:
        if self._presence.join():
            entered = self._loop.create_future()
            entered.add_done_callback(heard)  # the next beat makes up for it
            self._batch.jobs.append(Job(entered, self._presence.enter))
            self._schedule()
        return self._presence.name

    async def _look_at_leases(self, db: Db) -> None:
        """Runs that somebody else has taken up are not ours any more: their next commit says so, even if they
        have nothing to write."""
        held = list(self._leases)
        if held:
            sql = "SELECT number, epoch FROM run WHERE number = ANY(%s::bigint[])"
            found = await (await db.execute(sql, ([number for number, _ in held],))).fetchall()
            epochs: dict[int, int] = dict(found)
            self._give_up({key: None for key in held if epochs.get(key[0]) != key[1]})

    def durable(self, number: int) -> int:
        """Up to where a log is known to be durable, because this process writes it; 0: somebody else may."""
        return self._durable.get(number, 0)

    def _hold(self, run_id: str, standing: Standing) -> HeldLease:
        self._durable[standing.number] = standing.last_seq
        return super()._hold(run_id, standing)

    def _drop(self, held: HeldLease) -> None:
        super()._drop(held)
        self._durable.pop(held.key[0], None)

    async def _vacant(self, run_id: str, name: str) -> str:
        mark, who = await self._reader.driver(run_id)
        ours = mark == name
        if run_id in self._claims or (ours and run_id in self._current):
            raise RunLockedError(run_id, this_process())
        if who and not ours:
            raise RunLockedError(run_id, who)
        return mark  # nobody's, a dead one's, or ours that could not be taken off yet

    def _announce(self, report: Report) -> None:
        """Readers in this process get the rows from memory; the others are told that there are some."""
        rows = report.batch.rows
        for place, one in enumerate(rows[::ROW_WIDTH]):
            number, epoch = one >> 32, rows[place * ROW_WIDTH + 1]
            if number in self._durable and (number, epoch) not in report.failures:
                self._durable[number] = one & 0xFFFFFFFF
        if self._watch.has_tails:
            self._watch.hand(report.batch, report.failures)
        self._herald.tell(report.batch.numbers)
