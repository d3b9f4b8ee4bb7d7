"""A fleet gets all out of a provider's limit: counted to the call, on a clock that the test moves."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from podium.models.provider_limits import AHEAD_S, BLOCK_S
from tests.models.span import fleet
from tests.stores.postgres import Server


@pytest.mark.parametrize("late_s", [0.0, 0.02], ids=["at once", "20 ms late"])
async def test_four_workers_make_as_many_calls_as_a_limit_allows_and_no_more(
    pg_server: Server, late_s: float
) -> None:
    """Within 5 % in all and in each second after the first, with a database that answers late, too."""
    async with fleet(pg_server, requests=6000, late_s=late_s) as four:
        began = four.clock.now
        assert 950 <= await four.go(10.0) <= 1050
        seconds = Counter(int(moment - began) for hand in four.hands for moment in hand.times)
        assert all(95 <= seconds[second] <= 105 for second in range(1, 10)), seconds
        assert min(len(hand.times) for hand in four.hands) >= 200


async def test_the_parts_that_are_lent_lie_end_to_end(pg_server: Server) -> None:
    """Nothing of a limit is between two parts, whoever has them, and nothing is lent twice."""
    async with fleet(pg_server, requests=6000) as four:
        began = four.clock.now
        await four.go(3.0)
        parts = sorted(part for hand in four.hands for part in hand.line.parts)
        assert max(abs(begin - end) for (_, end), (begin, _) in pairwise(parts)) < 1e-5
        assert parts[0][0] <= began
        assert parts[-1][1] >= four.clock.now


async def test_what_a_worker_had_that_went_away_is_soon_past_and_the_others_have_it_all(
    pg_server: Server,
) -> None:
    async with fleet(pg_server, requests=6000) as four:
        await four.go(2.0)
        gone = four.hands.pop()
        assert await four.go(1.0) >= 100 * (1 - BLOCK_S - AHEAD_S)
        assert 475 <= await four.go(5.0) <= 525
        assert sum(begin > four.clock.now - 5 for begin, _ in gone.line.parts) == 0


@pytest.mark.parametrize(("each", "used"), [(500, 250), (2000, 500), (5000, 500), (5000, 5000)])
async def test_tokens_that_calls_did_not_use_are_used_by_others(
    pg_server: Server, each: int, used: int
) -> None:
    """A call counts with all that it may use until it has ended. Once every worker has gathered enough for a
    call, all tokens of the limit are used, also by calls so large that a worker gathers for seconds."""
    async with fleet(pg_server, tokens=60_000, each=each, used=used, tick_s=0.02) as four:
        await four.go(20.0)
        assert 19_000 <= used * await four.go(20.0) <= 21_000
