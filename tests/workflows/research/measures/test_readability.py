"""Syllables of known words, Flesch figures of texts counted by hand, and texts that are no English."""

from __future__ import annotations

import pytest

from podium.workflows.research.measures.structure import count_syllables, readability

KNOWN = {
    1: "the a I cat make makes made walked jumped changed year years eye eyes through strengths freed"
    " trees phone"
    " whole tried ties moved loved faced raised used based queen guide guess true fruit juice suit build"
    " field"
    " friend chief boat coal great beat does shoes queue filled ruled",
    2: "making table tables little people apple wanted needed houses boxes changes causes nation research"
    " quantum"
    " science special social patient ancient million billion region union question vision being seeing doing"
    " dying flying quiet unique value valued fluent rhythm movement statement useless safety lonely something"
    " therefore climate percent hundred seven player power beyond poet poem study studies countries agree"
    " coffee"
    " measure measures process system model network software machine increase reduce simple single cycle"
    " castle"
    " whistle handled settled carried rated added ended technique techniques brilliant lawyer language issue",
    3: "national citation syllable beautiful idea area creation creative reaction scientist official initial"
    " commercial potential essential medicine audience efficient radio video serious various previous obvious"
    " religious opinion position decision studying carrying continue actual usual gradual annual influence"
    " government management completely energy museum theory happier easiest companies committee employee"
    " measurement processes production consumption possible principle example genuine equipment pioneer"
    " reactor",
    4: "information education technology scientific society industrial artificial intelligence experience"
    " actually evaluate situation algorithm analysis development renewable available responsible geography"
    " biology democracy variety anxiety mechanism temperature European reliable scenario diabetes",
    5: "university readability electricity individual biological capitalism cooperation",
}
WORDS = [(word, count) for count, words in KNOWN.items() for word in words.split()]


def test_syllables_of_known_words() -> None:
    for word, count in WORDS:
        assert count_syllables(word) == count


@pytest.mark.parametrize(
    ("word", "count"),
    [
        ("well-known", 2),
        ("isn't", 2),
        ("don't", 1),
        ("science's", 2),
        ("TABLE", 2),
        ("don’t", 1),
        ("x", 1),
        ("42", 1),
        ("", 1),
        ("日本", 1),
        ("'", 1),
        ("-", 1),
        ("b" * 10_000, 1),
    ],
)
def test_every_word_has_at_least_one(word: str, count: int) -> None:
    assert count_syllables(word) == count


def test_unseen_words_are_mostly_right() -> None:
    """None of these shaped a rule."""
    seen = {
        "afternoon": 3, "agriculture": 4, "battery": 3, "beginning": 3, "calendar": 3, "cathedral": 3,
        "desirable": 4, "elephant": 3, "engineering": 4, "festival": 3, "furniture": 3, "generous": 3,
        "honesty": 3, "hospital": 3, "imagine": 3, "kitchen": 2, "library": 3, "magazine": 3, "mountain": 2,
        "neighbour": 2, "occasion": 3, "parliament": 3, "philosophy": 4, "photograph": 3, "population": 4,
        "remember": 3, "sandwich": 2, "separate": 3, "telephone": 3, "umbrella": 3, "vegetable": 4,
        "volcano": 3, "window": 2, "xylophone": 3, "zebra": 2, "journey": 2, "ceiling": 2, "weather": 2,
    }  # fmt: skip
    right = sum(count_syllables(word) == count for word, count in seen.items())
    assert right >= 0.9 * len(seen)


def test_the_formulas_on_a_sentence_counted_by_hand() -> None:
    """6 words, 1 sentence, 6 syllables: 206.835 - 1.015 * 6 - 84.6 and .39 * 6 + 11.8 - 15.59."""
    found = readability("The cat sat on the mat.")
    assert (found.flesch, found.grade, found.score) == (116.1, -1.4, 1.0)


def test_two_sentences_counted_by_hand() -> None:
    """13 words, 2 sentences, 28 syllables."""
    text = "The university published a study. Electricity is the most beautiful technology, she said."
    words, sentences, syllables = 13, 2, 1 + 5 + 2 + 1 + 2 + 5 + 1 + 1 + 1 + 3 + 4 + 1 + 1
    found = readability(text)
    assert found.flesch == round(206.835 - 1.015 * words / sentences - 84.6 * syllables / words, 1)
    assert found.grade == round(0.39 * words / sentences + 11.8 * syllables / words - 15.59, 1)
    assert (found.flesch, found.grade) == (18.0, 12.4)
    assert found.score == pytest.approx((206.835 - 1.015 * 6.5 - 84.6 * syllables / words) / 60)


def test_markup_citations_code_and_headings_are_not_read() -> None:
    plain = "The cat sat on the mat."
    dressed = (
        "# Incomprehensibilities\n\nThe **cat** [@s1] sat on [the](https://a.example) mat.\n\n"
        "```\nuncharacteristically()\n```\n"
    )
    assert readability(dressed) == readability(plain)


def test_harder_texts_score_lower() -> None:
    easy = readability("The sun is hot. The sea is cold. We like the sea.")
    hard = readability(
        "Institutional considerations regarding multidimensional interoperability necessitate the"
        " comprehensive reconceptualisation of organisational responsibilities and of accountability."
    )
    assert easy.score == 1.0
    assert hard.score == 0.0
    assert (easy.flesch or 0) > 90 > 0 > (hard.flesch or 0)


@pytest.mark.parametrize(
    "text", ["", "   ", "# Only a title", "```\ncode\n```", "!!! ???", "\x00\ud800", "[@s1]"]
)
def test_no_words_no_score(text: str) -> None:
    assert readability(text).score == 0.0
    assert readability(text).flesch is None


@pytest.mark.parametrize(
    "text",
    [
        "これは日本語の文章です。読みやすい文です。" * 5,
        "Это предложение написано на русском языке. Оно короткое. " * 5,
        "Dies ist ein ganz kurzer Satz und niemand muss lange nachdenken. Das Wetter wird morgen schön. " * 5,
        "هذه جملة قصيرة باللغة العربية. " * 8,
    ],
    ids=["Japanese", "Russian", "German", "Arabic"],
)
def test_other_languages_go_by_the_length_of_sentences(text: str) -> None:
    found = readability(text)
    assert (found.flesch, found.grade) == (None, None)
    assert found.score == 1.0


def test_endless_sentences_of_another_language_score_nothing() -> None:
    assert readability("Слово за словом " * 40 + ".").score == 0.0
