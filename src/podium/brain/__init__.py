"""Facts of a project, taken from accepted work: search by meaning and by name, and detection of
contradictions with new facts.

    brain = await Brain.open(store, "lighthouse")
    canon = await brain.search("Elena climbs the tower")
    clashes = await brain.contradictions([Fact(subject="Elena", predicate="eyes", value="green")])
    await brain.propose(run_id, facts)          # for review with `podium brain review RUN`
"""

from __future__ import annotations

from podium.brain.brain import Brain
from podium.brain.contradictions import Contradiction
from podium.engine.store_parts import Fact, FactChange, ProjectShare

__all__ = ["Brain", "Contradiction", "Fact", "FactChange", "ProjectShare"]
