"""The check of keys, and the limit for wrong ones.

The rule: a right key always gets in. Only wrong keys are counted, by address, and past the limit a wrong key
is answered with 429 instead of 401. So the limit does not make guessing harder; that keys hold 256 random
bits does. It tells a misconfigured client to slow down, and bounds the work that a hostile one can cause. An
answer tells nothing about a key but that it is wrong: which names exist, and how much of a key fits, change
neither status nor text nor time.

One exception: a hash made with scrypt by an earlier version takes 50 ms to check. Past the limit that is not
done, so such a key has to wait, unless it has got in since the server was started.
"""

from __future__ import annotations

import math

import msgspec

from podium.server.callers import Caller, Doorkeeper
from podium.server.origins import client_network
from podium.server.rates import Rates

LONGEST_KEY = 500
TRIES = 30
"""Wrong keys that one address may send in a minute before it is told to wait."""


class WrongKey(msgspec.Struct, frozen=True):
    """A key that is nobody's."""

    retry_after_s: int = 0
    """Seconds to wait; 0 below the limit."""


class KeyCheck:
    """Tells whose key it is, and counts wrong ones."""

    def __init__(self, door: Doorkeeper) -> None:
        self._door = door
        self._rates = Rates()

    async def check(self, key: str, client: str) -> Caller | WrongKey:
        """Return the caller whose key it is. `client` is the address that the request came from."""
        if len(key) <= LONGEST_KEY and (caller := self._door.remembered(key)):
            return caller
        network = client_network(client)
        wait = self._rates.take(network, TRIES, TRIES)
        if wait:
            return WrongKey(math.ceil(wait))
        caller = await self._door.by_key(key) if len(key) <= LONGEST_KEY else None
        if caller is None:
            return WrongKey()
        self._rates.give_back(network, TRIES)
        return caller
