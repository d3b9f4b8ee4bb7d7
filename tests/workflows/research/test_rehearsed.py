"""What a rehearsal reads out of the sources in its prompt."""

from __future__ import annotations

from podium.workflows.research.rehearsal import passages_in

PROMPT = """# Topic

Wie verändern Batterien das Stromnetz?

# Sources

BEGIN UNTRUSTED abc from source s1
(what it is)
netze.md

Übertragungsnetze müssen trotz neuer Batterien ausgebaut werden. Öffentliche Stellen rechnen mit hohen Kosten.
END UNTRUSTED abc
"""


def test_a_sentence_may_begin_with_an_umlaut() -> None:
    assert [one.text for one in passages_in(PROMPT)] == [
        "Übertragungsnetze müssen trotz neuer Batterien ausgebaut werden.",
        "Öffentliche Stellen rechnen mit hohen Kosten.",
    ]
