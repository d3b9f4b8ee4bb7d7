"""Structure, readability and SEO measures of an article."""

from __future__ import annotations

import re
from functools import lru_cache
from statistics import fmean

import msgspec

from podium.brain.vocabulary import word_set
from podium.report.words import shorten
from podium.workflows.research.measures.markup import CITED, Block, blocks_of, prose_of, without_citations
from podium.workflows.research.measures.text import sentences_in, words_in


class ArticleShape(msgspec.Struct, frozen=True):
    """Expectations for one kind of article."""

    sections: int
    """Minimum headings below the title."""
    paragraph: int
    """Maximum words of a paragraph."""
    parts: tuple[tuple[str, str], ...] = ()
    """Required headings: a name and a pattern for each."""


CONTENT_TYPES = {
    "article": ArticleShape(3, 160),
    "blog_post": ArticleShape(2, 120),
    "research_report": ArticleShape(
        4,
        220,
        (
            ("a summary", r"\b(?:abstract|summary|key (?:findings|points|takeaways)|overview)\b"),
            ("the findings", r"\b(?:findings?|results?|evidence|analysis|discussion)\b"),
        ),
    ),
}
_INTRODUCTION = re.compile(
    r"\b(?:introduction|background|overview|abstract|summary|why|what is)\b", re.IGNORECASE
)
_CONCLUSION = re.compile(
    r"\b(?:conclusions?|concluding|summary|outlook|takeaways?|final thoughts|in (?:short|brief)"
    r"|what (?:comes )?next|the bottom line|looking ahead|closing|wrapping up|recommendations?)\b",
    re.IGNORECASE,
)


class Score(msgspec.Struct, frozen=True):
    """Share of the rules that an article meets, and a sentence for each that it does not."""

    score: float
    findings: tuple[str, ...]


def structure(markdown: str, content_type: str) -> Score:
    """Score an article's structure. Every rule has the same weight; sections and paragraphs count
    proportionally."""
    shape = CONTENT_TYPES.get(content_type, CONTENT_TYPES["article"])
    blocks = blocks_of(markdown)
    results = [
        _title(blocks),
        _introduction(blocks),
        _sections(blocks, shape),
        _conclusion(blocks),
        _levels(blocks),
        _paragraphs(blocks, shape),
        *(_part(blocks, *part) for part in shape.parts),
    ]
    if not any(block.kind in ("paragraph", "item") for block in blocks):
        return Score(0.0, ("There is no text.",))
    return _scored(results)


def _scored(rules: list[tuple[float, str]]) -> Score:
    return Score(fmean(score for score, _ in rules), tuple(finding for _, finding in rules if finding))


def sections_of(blocks: tuple[Block, ...]) -> list[Block]:
    """Return the section headings: those of the highest level below the title."""
    below = [heading for heading in blocks if heading.kind == "heading" and heading.level > 1]
    top = min((heading.level for heading in below), default=0)
    return [heading for heading in below if heading.level == top]


def _title(blocks: tuple[Block, ...]) -> tuple[float, str]:
    titles = [block for block in blocks if block.kind == "heading" and block.level == 1]
    if len(titles) == 1 and blocks[0] is titles[0]:
        return 1.0, ""
    return (
        (0.5, "There are several titles.")
        if len(titles) > 1
        else ((0.5, "The title is not at the top.") if titles else (0.0, "There is no title."))
    )


def _introduction(blocks: tuple[Block, ...]) -> tuple[float, str]:
    """Check for text before the first section, or for a first section that is an introduction."""
    for block in blocks:
        if block.kind == "heading" and block.level > 1:
            fits = bool(_INTRODUCTION.search(block.text))
            return float(fits), "" if fits else "There is no introduction before the first section."
        if block.kind == "paragraph":
            return 1.0, ""
    return 0.0, "There is no introduction."


def _sections(blocks: tuple[Block, ...], shape: ArticleShape) -> tuple[float, str]:
    count = len(sections_of(blocks))
    finding = "" if count >= shape.sections else f"{count} of {shape.sections} sections."
    return min(count / shape.sections, 1.0), finding


def _conclusion(blocks: tuple[Block, ...]) -> tuple[float, str]:
    """Check that one of the last two headings is a conclusion (references may follow) with text below it."""
    headings = [nth for nth, block in enumerate(blocks) if block.kind == "heading" and block.level > 1]
    for nth in headings[-2:]:
        written = nth + 1 < len(blocks) and blocks[nth + 1].kind != "heading"
        if written and _CONCLUSION.search(blocks[nth].text):
            return 1.0, ""
    return 0.0, "There is no conclusion."


def _levels(blocks: tuple[Block, ...]) -> tuple[float, str]:
    """Check that no heading skips a level."""
    levels = [block.level for block in blocks if block.kind == "heading"]
    jumps = sum(after > before + 1 for before, after in zip([1, *levels], levels, strict=False))
    if not jumps:
        return 1.0, ""
    return 1 - jumps / len(levels), f"{jumps} of {len(levels)} headings skip a level."


def _paragraphs(blocks: tuple[Block, ...], shape: ArticleShape) -> tuple[float, str]:
    lengths = [len(words_in(without_citations(block.text))) for block in blocks if block.kind == "paragraph"]
    if not lengths:
        return 0.0, "There are no paragraphs."
    long = sum(words > shape.paragraph for words in lengths)
    finding = f"{long} of {len(lengths)} paragraphs have more than {shape.paragraph} words." if long else ""
    return 1 - long / len(lengths), finding


def _part(blocks: tuple[Block, ...], name: str, pattern: str) -> tuple[float, str]:
    present = any(
        block.kind == "heading" and re.search(pattern, block.text, re.IGNORECASE) for block in blocks
    )
    return float(present), "" if present else f"A research report has a section with {name}."


# textstat would need NLTK (30 MB, 1 s to import), which downloads a dictionary at the first use.
_EXCEPTIONS = {
    "area": 3, "areas": 3, "business": 2, "businesses": 3, "chaos": 2, "colonel": 2, "cooperate": 4,
    "cooperation": 5, "coordinate": 4, "create": 2, "created": 3, "creates": 2, "diabetes": 4, "diet": 2,
    "european": 4, "every": 2, "everyone": 3, "everything": 3, "eyes": 1, "familiar": 3, "forever": 3,
    "giant": 2, "hundred": 2, "hundreds": 2, "idea": 3, "ideal": 3, "ideals": 3, "ideas": 3, "linear": 3,
    "lion": 2, "lions": 2, "maybe": 2, "naive": 2, "nuclear": 3, "people": 2, "quiet": 2, "realise": 3,
    "reality": 4, "realize": 3, "really": 2, "recipe": 3, "recipes": 3, "sacred": 2, "safety": 2,
    "science": 2, "sciences": 3, "society": 4, "soldier": 2, "somebody": 3, "someone": 2, "something": 2,
    "sometimes": 2, "somewhere": 2, "theatre": 3, "theories": 3, "theory": 3, "therefore": 2, "variety": 4,
    "wednesday": 2, "whereas": 2,
}  # fmt: skip
"""Words that the rules get wrong."""

_VOWELS = re.compile(r"[aeiouy]+")
_SILENT = re.compile(
    r"[^aeiouy]e$|[aeiouy][gq]ues?$|[^aeiouytd]ed$|(?<![cgsxz])(?<!ch)(?<!sh)(?<=[^aeiouy])es$"
)
"""A silent `e` at the end: make, walked, makes; but not wanted, boxes."""
_SYLLABIC = re.compile(r"[^aeiouylr]l(?:e|es|ed)$|thm|sm$|(?<=[ds])n't$")
"""A syllable without its own vowel: table, handled, rhythm, mechanism, isn't."""
_APART = re.compile(
    r"i(?=a)(?<![ctgx]i)(?<!lli)(?!ag)"  # mater-i-al, but spe-cial, brill-iant, marr-iage
    r"|i(?=o)(?<![ctgsxnh]i)(?<!lli)|(?<=[pn])i(?=on?u?s)"  # rad-i-o, var-i-ous, but na-tion, mill-ion
    r"|i(?=et|ers?$|est$|en(?:ce|t)s?$)(?<![ct]i)|(?<=sc)i(?=en)"  # anx-i-ety, eas-i-er, sc-i-entist
    r"|(?<![qg])u(?=[aeo]|i(?:d$|n|ci|t[yo]))(?!e[sd]?$)"  # act-u-al, fl-u-id, but val-ue, build
    r"|[aeiouy](?=ing)|e(?=o[lgucds])|eo$|e(?=um)"  # se-e-ing, g-e-ology, vid-e-o, mus-e-um
    r"|o(?=e[tm])|(?<=r)e(?=ati|act)|[aeo]y(?=[aeo])"  # p-o-et, r-e-action, be-y-ond
)
"""Two vowels in separate syllables: mater-i-al, vari-ous, actu-al, see-ing, ge-ology."""
_JOINT = re.compile(r"[^aeiouyl]e(?=(?:ment|less|ful|ly|ness|some|ware|land|hood|care)s?$)")
"""A silent `e` inside: move-ment, use-less."""


@lru_cache(maxsize=16384)
def count_syllables(word: str) -> int:
    """Return the number of syllables, at least one. A hyphenated word is counted by its parts."""
    parts = re.findall(r"[a-z]+(?:'[a-z]+)?", word[:100].lower().replace("’", "'"))
    return max(sum(_of_part(part) for part in parts), 1)


def _of_part(word: str) -> int:
    plain = word.removesuffix("'s")
    if plain in _EXCEPTIONS:
        return _EXCEPTIONS[plain]
    count = len(_VOWELS.findall(plain))
    if len(plain) > 3:
        count -= bool(_SILENT.search(plain)) + len(_JOINT.findall(plain))
        count += len(_SYLLABIC.findall(plain)) + len(_APART.findall(plain))
    return max(count, 1)


PLAIN = 60.0
"""Flesch reading ease of plain English. From here on a text has the full score."""
LONG_SENTENCE, ENDLESS_SENTENCE = 20.0, 60.0
"""Words per sentence from which a sentence is hard to follow, and at which the score is 0."""
_COMMON = word_set(
    "the of and to in a is that for it as with on was are by this be from or an at not which have has its"
    " but their were can will more they"
)
_ENGLISH = 0.12
"""Minimum share of these words in any English text."""
_FEW = 20
"""Fewer words are too few to detect the language."""


class Readability(msgspec.Struct, frozen=True):
    """Readability scores, rounded to one decimal. `None` if the formulas do not apply: no words, or not
    English."""

    flesch: float | None
    """About 0 (very hard) to 100 (very easy); plain English is 60 to 70."""
    grade: float | None
    """School years that a reader needs."""
    score: float
    """0 to 1; 1 from plain English on. For other languages it depends only on the sentence length."""


def readability(markdown: str) -> Readability:
    """Measure the readability of all prose."""
    texts = prose_of(markdown)
    words = [word for text in texts for word in words_in(text)]
    sentences = sum(len(sentences_in(text)) for text in texts)
    if not words or not sentences:
        return Readability(None, None, 0.0)
    length = len(words) / sentences
    if not _is_english(words):
        room = (ENDLESS_SENTENCE - length) / (ENDLESS_SENTENCE - LONG_SENTENCE)
        return Readability(None, None, _between(room))
    syllables = sum(map(count_syllables, words)) / len(words)
    flesch = 206.835 - 1.015 * length - 84.6 * syllables
    grade = 0.39 * length + 11.8 * syllables - 15.59
    return Readability(round(flesch, 1), round(grade, 1), _between(flesch / PLAIN))


def _is_english(words: list[str]) -> bool:
    latin = sum(word[0].isascii() for word in words)
    if latin < len(words) / 2:
        return False
    if len(words) < _FEW:
        return True
    return sum(word.lower() in _COMMON for word in words) / len(words) >= _ENGLISH


def _between(value: float) -> float:
    return min(max(value, 0.0), 1.0)


TITLE = (20, 65)
DESCRIPTION = (70, 160)
"""Characters that a search result page shows."""
DENSITY = (0.003, 0.04)
"""Share of the topic's words among all words: below is too few, above is keyword stuffing."""
BEGINNING = 100
"""Number of first words in which the topic should be named."""
_STOP = word_set(
    "a an and are as at be by can do does for from had has have how in into is it its of on or our should"
    " than that the their them these this those to was we what when where which who why will with you your"
    " about after before between current future impact use using new"
)


def seo(markdown: str, topic: str) -> Score:
    """Score an article's SEO. Every rule has the same weight."""
    blocks = blocks_of(markdown)
    keys = keywords(topic)
    results = [
        _seo_title(blocks),
        _in_title(blocks, keys),
        _in_beginning(blocks, keys),
        _in_headings(blocks, keys),
        _density(blocks, keys),
        _description(markdown),
        _links(blocks),
    ]
    return _scored(results)


def keywords(topic: str) -> frozenset[str]:
    """Return the stemmed words of a topic that a reader would search for."""
    words = [word.lower() for word in words_in(topic[:500])]
    content = [word for word in words if word not in _STOP and len(word) > 1]
    return frozenset(map(_stem, content or words))


def title_of(markdown: str) -> str:
    """Return the article's title, or an empty string."""
    titles = (block.text for block in blocks_of(markdown) if block.kind == "heading" and block.level == 1)
    return without_citations(next(titles, ""))


def description_of(markdown: str) -> str:
    """Return the description for search results: the start of the first paragraph."""
    first = next((block.text for block in blocks_of(markdown) if block.kind == "paragraph"), "")
    text = without_citations(first)
    if len(text) <= DESCRIPTION[1]:
        return text
    end = re.search(r"[.!?](?=\s)", text[DESCRIPTION[0] : DESCRIPTION[1]])
    if end is not None:
        return text[: DESCRIPTION[0] + end.end()]
    cut = text[: DESCRIPTION[1] - 1]
    return shorten(cut.rpartition(" ")[0] + " …" if " " in cut else cut, DESCRIPTION[1])


def _stem(word: str) -> str:
    word = word.lower()
    return (
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
    )


def _share(text: str, keys: frozenset[str]) -> float:
    """Return the share of the topic's words that a text contains."""
    return len(keys & {_stem(word) for word in words_in(text)}) / len(keys) if keys else 1.0


def _seo_title(blocks: tuple[Block, ...]) -> tuple[float, str]:
    title = next((block.text for block in blocks if block.kind == "heading" and block.level == 1), "")
    if not title:
        return 0.0, "There is no title."
    if TITLE[0] <= len(title) <= TITLE[1]:
        return 1.0, ""
    return 0.5, f"The title has {len(title)} characters; {TITLE[0]} to {TITLE[1]} are shown whole."


def _in_title(blocks: tuple[Block, ...], keys: frozenset[str]) -> tuple[float, str]:
    title = next((block.text for block in blocks if block.kind == "heading" and block.level == 1), "")
    share = _share(title, keys)
    return min(share * 2, 1.0), "" if share >= 0.5 else "The title does not name the topic."


def _in_beginning(blocks: tuple[Block, ...], keys: frozenset[str]) -> tuple[float, str]:
    texts = (without_citations(block.text) for block in blocks if block.kind in ("paragraph", "item"))
    share = _share(" ".join(words_in(" ".join(texts))[:BEGINNING]), keys)
    return min(share * 2, 1.0), "" if share >= 0.5 else "The first words do not name the topic."


def _in_headings(blocks: tuple[Block, ...], keys: frozenset[str]) -> tuple[float, str]:
    headings = [block.text for block in blocks if block.kind == "heading" and block.level > 1]
    if not headings:
        return 0.0, "There are no headings."
    named = any(_share(text, keys) > 0 for text in headings)
    return (1.0, "") if named else (0.5, "No heading has a word of the topic.")


def _density(blocks: tuple[Block, ...], keys: frozenset[str]) -> tuple[float, str]:
    words = [
        _stem(word)
        for block in blocks
        if block.kind != "code"
        for word in words_in(without_citations(block.text))
    ]
    if not words or not keys:
        return 0.0, "There is no text."
    share = sum(word in keys for word in words) / len(words) / len(keys)
    if share < DENSITY[0]:
        return share / DENSITY[0], "The topic's words are hardly used."
    if share > DENSITY[1]:
        return DENSITY[1] / share, "The topic's words are used too often."
    return 1.0, ""


def _description(markdown: str) -> tuple[float, str]:
    length = len(description_of(markdown))
    if length >= DESCRIPTION[0]:
        return 1.0, ""
    return length / DESCRIPTION[0], "The first paragraph is too short for a description."


def _links(blocks: tuple[Block, ...]) -> tuple[float, str]:
    """Check for links. Citations count, because they become links."""
    linked = any(block.links or CITED.search(block.text) for block in blocks)
    return float(linked), "" if linked else "Nothing links to a source."
