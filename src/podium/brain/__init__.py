"""What a project knows: facts taken from accepted work, searched by meaning and by name, and the
contradictions between them and something new.

    brain = await Brain.open(store, "lighthouse")
    canon = await brain.search("Elena climbs the tower")
    clashes = await brain.contradictions([Fact(subject="Elena", predicate="eyes", value="green")])
    await brain.propose(run_id, facts)          # they wait for `podium brain review RUN`
"""

from __future__ import annotations

from podium.brain.brain import Brain
from podium.brain.contradictions import Contradiction
from podium.engine.store_parts import Fact, FactChange, ProjectShare

__all__ = ["Brain", "Contradiction", "Fact", "FactChange", "ProjectShare"]
