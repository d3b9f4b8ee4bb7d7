"""Whether a passage supports the whole of a claim: figures, units, dates, names, negations, enough words."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.citations import ALTERED, counts_of, documents_in, labelled

from podium.workflows.research.context import Checked
from podium.workflows.research.contracts import Check, Claim
from podium.workflows.research.measures.support import missing_support, supporting_span
from podium.workflows.research.quality import carried_over, tied

DOCS = Path(__file__).parents[4] / "docs"
TEXT = (
    "Customers may return an item within 21 days of purchase. The fee is $5.00 per return. "
    "Refunds are not issued for gift cards. The rule took effect on March 5, 2024. "
    "The European Food Safety Authority advised at most 400 mg of caffeine a day."
)


def verdict(claim: str, quote: str) -> str:
    stated = Claim(id="c1", text=claim, source_ids=["s1"])
    check = Check(claim_id="c1", verdict="verified", source_id="s1", quote=quote)
    return tied(stated, check, {"s1": TEXT}).verdict


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Anything at all is true of this matter.", "the"),
        ("Customers may return an item within 14 days of purchase.", "21 days"),
        ("Customers may return an item within 14 days of purchase.", TEXT[:56]),
        ("Customers may return an item within 21 weeks of purchase.", TEXT[:56]),
        ("The fee is 5 euros per return.", "The fee is $5.00 per return."),
        ("Refunds are issued for gift cards.", "Refunds are not issued for gift cards."),
        ("Refunds are issued for gift cards.", "issued for gift cards"),
        ("The rule took effect on March 6, 2024.", "The rule took effect on March 5, 2024."),
        ("The rule took effect on 5 April 2024.", "The rule took effect on March 5, 2024."),
        ("The American Heart Association advised at most 400 mg of caffeine a day.", TEXT[-76:]),
        ("Caffeine helps athletes to run faster over long distances.", "The fee is $5.00 per return."),
    ],
)
def test_altered_claims_and_short_quotations_are_not_verified(claim: str, quote: str) -> None:
    assert verdict(claim, quote) == "unverified"


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Items can be returned within 21 days of purchase.", "21 days"),
        ("Each return costs a fee of five dollars.", "The fee is $5.00 per return."),
        ("For gift cards, refunds are not issued.", "Refunds are not issued for gift cards."),
        ("The rule took effect on 5 March 2024.", "The rule took effect on March 5, 2024."),
        ("The rule took effect in March 2024.", "The rule took effect on March 5, 2024."),
        ("The EFSA advised at most 400 milligrams of caffeine a day.", TEXT[-76:]),
        ("Am Tag sind höchstens 400 mg Koffein ratsam, so die Behörde.", TEXT[-76:]),
    ],
)
def test_paraphrases_are_verified(claim: str, quote: str) -> None:
    assert verdict(claim, quote) == "verified"


def test_a_short_quotation_grows_to_the_shortest_passage_that_supports_the_claim() -> None:
    at = TEXT.index("21 days")
    span = supporting_span("Items can be returned within 21 days of purchase.", TEXT, at, at + 7)
    assert span is not None
    assert TEXT[slice(*span)] == "Customers may return an item within 21 days of purchase."


def test_a_refused_claim_says_what_the_passage_lacks() -> None:
    reason = missing_support("The fee is $9.00 per return.", "The fee is $5.00 per return.")
    assert reason == "The quoted passage does not hold the figure 9."


def test_an_edit_that_alters_a_figure_loses_the_verdict() -> None:
    claim = Claim(id="c1", text="The fee is $5.00 per return.", source_ids=["s1"], verdict="verified")
    edited = carried_over(Checked([claim], []), "The fee is $6.00 per return. [@s1]")
    assert [one.verdict for one in edited.claims] == ["unverified"]


def verified(text: str, source: str = "s1") -> Claim:
    found = {"verdict": "verified", "quote": text, "quote_source": source}
    return Claim.model_validate({"id": "c1", "text": text, "source_ids": [source], **found})


@pytest.mark.parametrize(
    ("edited", "verdict"),
    [
        ("Within 21 days of purchase, an item may be returned by customers for money. [@s1]", "verified"),
        ("An item may be returned within 21 days. [@s1] The fee is $5.00 per return. [@s1]", "verified"),
        (
            "Customers may return an item for money within 21 days; the fee is $5.00 per return. [@s1]",
            "verified",
        ),
        ("Customers may not return an item within 21 days of purchase. [@s1]", "unverified"),
        ("Customers must return an item within 21 days of purchase for money. [@s1]", "unverified"),
        ("Customers may return an item within 12 days of purchase for money. [@s1]", "unverified"),
    ],
)
def test_an_edit_that_changes_no_fact_keeps_the_verdict(edited: str, verdict: str) -> None:
    before = [
        verified("Customers may return an item within 21 days of purchase for money."),
        verified("The fee is $5.00 per return."),
    ]
    carried = carried_over(Checked(before, []), edited)
    assert [one.verdict for one in carried.claims] == [verdict] * len(carried.claims)


def test_altered_claims_from_real_documents_are_caught() -> None:
    counts = counts_of(labelled(documents_in(DOCS)))
    caught = sum(counts[kind][0] for kind in ALTERED if kind in counts)
    every = sum(counts[kind][1] for kind in ALTERED if kind in counts)
    assert every > 300
    assert caught >= 0.99 * every, counts
    assert counts["same"][0] == 0, counts
