"""Words, sentences, length and selection of passages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from math import ceil, log

from podium.brain.vocabulary import word_set
from podium.workflows.research.measures.markup import CITED, prose_of

ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts without spaces between words: each letter counts as a word."""
_WORD = re.compile(rf"[{ALONE}]|[^\W_{ALONE}]+(?:['’.,-][^\W_{ALONE}]+)*")
_STOP = re.compile(
    rf"(?:[.!?…]+[\"'”’»)\]]*(?P<cited>(?:\s*{CITED.pattern})*)(?=\s|$))|[。！？]+[」』”]*(?:{CITED.pattern})*"
)
_INITIAL = re.compile(r"(?:^|[\s(“\"])[A-Z]\.$")
_ABBREVIATIONS = word_set(
    "al approx art ca cf ch chap co corp dept dr e.g ed eds eq esp est etc fig figs gen gov hon i.e inc jr"
    " ltd messrs mr mrs ms no nos op p pp prof pt ref rep rev sen sec st u.k u.s u.n vol vs viz jan feb"
    " mar apr jun jul aug sep sept oct nov dec ph.d m.d b.a d.c"
)
_LAST = re.compile(r"([\w.]+)\.$")
SHORT = 5
"""Maximum letters of an abbreviation before a full stop."""
_GOES_ON = re.compile(r"\s*[a-z]")


def words_in(text: str) -> list[str]:
    """Return the words of a text. `co-operate`, `1,000` and `don't` are one each."""
    return _WORD.findall(text)


def count_words(markdown: str) -> int:
    """Count the words of the prose, without code, headings, tables and citations."""
    return sum(len(words_in(text)) for text in prose_of(markdown))


def sentences_in(text: str) -> list[str]:
    """Return a block's sentences. A citation after the full stop belongs to the sentence before it, and so
    does anything else without a word (`... ” [@s5].`). Nothing is dropped, because a page counts every
    citation."""
    sentences: list[str] = []
    before = ""
    for sentence in _sentences(text):
        if any(map(str.isalnum, CITED.sub("", sentence))):
            sentences.append(f"{before}{sentence}")
            before = ""
        elif sentences:
            sentences[-1] = f"{sentences[-1]} {sentence}".strip()
        elif sentence:
            before += f"{sentence} "
    return sentences


def _sentences(text: str) -> Iterator[str]:
    begin = 0
    for stop in _STOP.finditer(text):
        if stop[0][0] == "." and _is_abbreviation(text, stop):
            continue
        if stop[0][0] in ".…" and text[stop.start() - 1 : stop.start()].isspace():  # `SELECT ... FOR UPDATE`
            continue
        yield text[begin : stop.end()].strip()
        begin = stop.end()
    yield text[begin:].strip()


def _is_abbreviation(text: str, stop: re.Match[str]) -> bool:
    """True if a full stop ends an abbreviation, not a sentence: `Dr. Who`, `J. Smith`, `et al. found`."""
    if stop["cited"]:
        return False
    before = text[max(stop.start() - 20, 0) : stop.start() + 1]
    if _INITIAL.search(before):
        return True
    last = _LAST.search(before)
    if last is not None and last[1].lower() in _ABBREVIATIONS:
        return last[1].lower() != "etc" or bool(_GOES_ON.match(text, stop.end()))
    short = last is not None and len(last[1]) <= SHORT
    return short and bool(_GOES_ON.match(text, stop.end()))


NEAR = 0.10
"""Relative distance from the target length, up or down, that costs nothing."""
WORDS_A_MINUTE = 220


def length_score(words: int, target: int) -> float:
    """Return 1 within a tenth of the target, then fall linearly to 0 at no words and at twice the target."""
    if target <= 0:
        return 1.0
    away = abs(words - target) / target
    return max(0.0, min(1.0, 1 - (away - NEAR) / (1 - NEAR)))


def reading_minutes(words: int) -> int:
    """Return the reading time in whole minutes, rounded up."""
    return ceil(words / WORDS_A_MINUTE)


_TERM = re.compile(r"[^\W_]{3,}")
_COMMON = word_set(
    "the and for with that this from are was were has have had not but its their they them his her which what"
    " when where how why who will would can could should about into over under than then also more most other"
    " some such only very each between because been being both does did you your our"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]{2,}")
"""Scripts without spaces between words: Japanese, Chinese, Thai."""
_STEM = 6
"""Words with the same first letters count as one: `trend` and `trends`."""
LONGEST_PASSAGE = 1_200
GAP = "\n[…]\n"
BESIDE = 0.3
"""Share of a passage's score that its neighbours in the same text get."""
SAME = 0.85
"""Share of common words from which two passages say the same."""
LEAST_STEMS = 8
"""Passages with fewer stems are not compared."""
PROBES = 4
"""Number of rarest words by which earlier passages are looked up. Two similar passages share at least one of
them."""
KEPT_ROOM = 0.7
"""Share of the room for passages that are kept from the last version."""
DOUBLE = 0.75
"""Share of the words of the shorter of two points from which they are the same point."""


def terms_of(text: str) -> set[str]:
    """Return the content words of a text."""
    return {word for word in (term.lower() for term in _TERM.findall(text)) if word not in _COMMON}


def shared_most(topic: str, texts: Iterable[str]) -> float:
    """Return the share of the topic's words in the text that contains the most of them, 0 to 1."""
    wanted = stems_of(topic)
    return max((len(wanted & stems_of(text)) / len(wanted) for text in texts), default=0.0) if wanted else 1.0


def stems_of(text: str) -> set[str]:
    """Return the content words of a text, each truncated to its first letters."""
    return letter_pairs(text) | {word[:_STEM] for word in terms_of(_UNSPACED.sub(" ", text))}


def letter_pairs(text: str) -> set[str]:
    """Return all pairs of letters of scripts without spaces, which stand for words."""
    runs = _UNSPACED.findall(text)
    return {run[at : at + 2] for run in runs for at in range(len(run) - 1)}


def best_passages(
    texts: Mapping[str, str],
    aspects: Sequence[str],
    room: int,
    kept_spans: Mapping[str, Sequence[tuple[int, int]]] | None = None,
) -> dict[str, str]:
    """Return the most relevant passages of all texts for the aspects, by text, within `room` characters.

    Passages with one of the `kept_spans` come first. Then every aspect fills an equal share of the room with
    its best passages, from any text; the rest of the room goes to the best remaining ones. A passage scores
    higher next to good passages, and in a text that is about the aspect as a whole. Duplicates in two texts
    are taken once. A text without a selected passage is not in the result.
    """
    if sum(map(len, texts.values())) <= room:
        return dict(texts)
    pieces = [(key, nth, piece) for key, text in texts.items() for nth, piece in enumerate(_passages(text))]
    stem_sets = [stems_of(piece) for _, _, piece in pieces]
    often = Counter(stem for stems in stem_sets for stem in stems)
    keys = [key for key, _, _ in pieces]
    doubles = _doubles(stem_sets)
    chosen = set[int]()
    remaining = float(room) - _fill(
        _holding(texts, pieces, kept_spans or {}), pieces, chosen, KEPT_ROOM * room
    )
    ranked = [
        [nth for nth in _ranking(aspect, stem_sets, often, keys) if nth not in doubles] for aspect in aspects
    ]
    for turn, order in enumerate(ranked):
        share = remaining / (len(ranked) - turn)
        remaining -= _fill(order, pieces, chosen, share)
    for place in zip_longest(*ranked):
        remaining -= _fill([index for index in place if index is not None], pieces, chosen, remaining)
    return {
        key: _joined(key, pieces, chosen) for key in texts if any(pieces[index][0] == key for index in chosen)
    }


def _holding(
    texts: Mapping[str, str],
    pieces: Sequence[tuple[str, int, str]],
    spans: Mapping[str, Sequence[tuple[int, int]]],
) -> list[int]:
    """Return the passages that overlap one of the spans."""
    overlapping, at, before = list[int](), 0, ""
    for nth, (key, _, piece) in enumerate(pieces):
        start = texts[key].find(piece, at if key == before else 0)
        at, before = start + len(piece), key
        if any(start < end and at > begin for begin, end in spans.get(key, ())):
            overlapping.append(nth)
    return overlapping


def nearest(points: Sequence[str], about: str, most: int) -> list[str]:
    """Return the points that share most words with a text, in their own order."""
    wanted = stems_of(about)
    ranked = sorted(points, key=lambda point: -len(stems_of(point) & wanted))[:most]
    return [point for point in points if point in ranked]


def without_doubles(points: Iterable[str], known: Iterable[str], most: int) -> list[str]:
    """Return the points that differ from those before them and from the known ones, at most `most`."""
    seen, new = [stems_of(text) for text in known], list[str]()
    for point in points:
        stems = stems_of(point)
        if len(new) < most and not any(_alike(stems, other) for other in seen):
            new.append(point)
            seen.append(stems)
    return new


def _alike(stems: set[str], other: set[str]) -> bool:
    fewer = min(len(stems), len(other))
    return stems == other or (fewer > 1 and len(stems & other) / fewer >= DOUBLE)


def _ranking(
    aspect: str, stem_sets: Sequence[set[str]], often: Mapping[str, int], keys: Sequence[str]
) -> list[int]:
    """Rank the passages that contain a word of the aspect, or are next to one, the best first. Rare words
    weigh more."""
    wanted = stems_of(aspect)
    weights = {stem: log(1 + len(stem_sets) / often[stem]) for stem in wanted if often[stem]}
    most = sum(weights.values())
    if not most:
        return []
    own = [sum(weights[stem] for stem in wanted & stems) / most for stems in stem_sets]
    whole: dict[str, set[str]] = {}
    for key, stems in zip(keys, stem_sets, strict=True):
        whole.setdefault(key, set()).update(wanted & stems)
    about = {key: sum(weights[stem] for stem in stems) / most for key, stems in whole.items()}

    def beside(nth: int, other: int) -> float:
        return own[other] if 0 <= other < len(keys) and keys[other] == keys[nth] else 0.0

    scores = [
        (score + BESIDE * (beside(nth, nth - 1) + beside(nth, nth + 1))) * (1 + about[keys[nth]]) ** 2
        for nth, score in enumerate(own)
    ]
    return sorted((nth for nth, score in enumerate(scores) if score), key=lambda nth: (-scores[nth], nth))


def _doubles(stem_sets: Sequence[set[str]]) -> set[int]:
    """Return passages whose words nearly all occur in an earlier passage of similar length: the same page in
    another format."""
    by_stem: dict[str, list[int]] = {}
    doubles = set[int]()
    for nth, stems in enumerate(stem_sets):
        if len(stems) < LEAST_STEMS:
            continue
        rarest = sorted(stems, key=lambda stem: len(by_stem.get(stem, ())))[:PROBES]
        others = {other for stem in rarest for other in by_stem.get(stem, ())}
        if any(len(stems & stem_sets[other]) >= SAME * len(stems | stem_sets[other]) for other in others):
            doubles.add(nth)
            continue
        for stem in stems:
            by_stem.setdefault(stem, []).append(nth)
    return doubles


def _fill(order: Iterable[int], pieces: Sequence[tuple[str, int, str]], chosen: set[int], room: float) -> int:
    """Choose passages in this order while they fit. Return the number of characters used."""
    used = 0
    for nth in order:
        needed = len(pieces[nth][2]) + len(GAP)
        if nth not in chosen and used + needed <= room:
            chosen.add(nth)
            used += needed
    return used


def _joined(key: str, pieces: Sequence[tuple[str, int, str]], chosen: Iterable[int]) -> str:
    """Join the chosen passages of one text in order, with gaps marked."""
    own = sorted((pieces[index][1], pieces[index][2]) for index in chosen if pieces[index][0] == key)
    parts, before = list[str](), -1
    for nth, piece in own:
        parts += [GAP.strip()] if nth != before + 1 else []
        parts.append(piece)
        before = nth
    return "\n\n".join(parts)


def _passages(text: str) -> list[str]:
    """Split a text into paragraphs; long ones are split at the ends of sentences."""
    passages: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        rest = paragraph.strip()
        while len(rest) > LONGEST_PASSAGE:
            cut = max(rest.rfind(". ", 0, LONGEST_PASSAGE) + 1, rest.rfind("\n", 0, LONGEST_PASSAGE))
            cut = cut if cut > LONGEST_PASSAGE // 3 else LONGEST_PASSAGE
            passages.append(rest[:cut].strip())
            rest = rest[cut:].strip()
        if rest:
            passages.append(rest)
    return passages


def relevance_of(topic: str, aspects: list[str], title: str, text: str, rank: int) -> float:
    """Rate a source from 0 to 1 by the topic's words that it contains, especially in its title, and by its
    search rank."""
    wanted = terms_of(" ".join([topic, *aspects]))
    core = terms_of(topic) or wanted
    present = terms_of(f"{title} {text[:20_000]}")
    share = len(core & present) / len(core) if core else 0.0
    wide = len(wanted & present) / len(wanted) if wanted else 0.0
    named = 1.0 if core & terms_of(title) else 0.0
    return round(0.4 * share + 0.3 * wide + 0.15 * named + 0.15 / (1 + rank / 4), 4)
