"""When two values differ, and when they are only put in other words."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from podium.brain.contradictions import difference

SAME = [
    ("green", "Green"),
    ("green", "a green"),
    ("emerald green", "green"),
    ("emerald", "green"),
    ("dark brown", "brown"),
    ("gray", "grey"),
    ("raven", "black"),
    ("keeper of the lighthouse", "lighthouse keeper"),
    ("lighthouse keeper", "the old lighthouse keeper"),
    ("34", "34 years old"),
    ("thirty-four", "34"),
    ("aged 34", "thirty-four years old"),
    ("180 cm", "1.80 m"),
    ("1,80 m", "180 centimetres"),
    ("5'11\"", "180 cm"),
    ("5 feet 11 inches", "1.8 metres"),
    ("about 30", "32"),
    ("1,200 metres", "1.2 km"),
    ("1m80", "180 cm"),
    ("1 h 30 min", "90 minutes"),
    ("1h30", "1.5 hours"),
    ("one hundred ninety-nine", "199"),
    ("$5,000,000", "5 million dollars"),
    ("the 1920s", "1923"),
    ("in her 30s", "34"),
    ("3/4/1987", "1987-04-03"),
    ("green-grey", "grey-green"),
    ("green with flecks of gold", "green"),
    ("tall", "180 cm"),
    ("early thirties", "32"),
    ("curly", "black"),
    ("90 minutes", "1.5 hours"),
    ("12 March 1987", "1987-03-12"),
    ("March 12th, 1987", "12 Mar 1987"),
    ("1987", "12 March 1987"),
    ("March 1987", "1987-03-12"),
    ("yes", "true"),
    ("Café Noir", "cafe noir"),
    ("physician", "a doctor"),
    ("the tower on the north coast near the harbour", "a tower near the harbour on the north coast"),
    ("a long tale that no rule could ever judge because it goes on and on about the sea and its moods",
     "another long story about something else entirely that only a reader could put beside the first one"),
]  # fmt: skip

OTHER = [
    ("green", "blue", "another colour"),
    ("dark green", "dark blue", "another colour"),
    ("34", "35 years old", "another number"),
    ("thirty-four", "43", "another number"),
    ("180 cm", "1.70 m", "another number"),
    ("5'11\"", "160 cm", "another number"),
    ("12 March 1987", "1987-03-13", "another date"),
    ("1986", "12 March 1987", "another date"),
    ("April 1987", "12 March 1987", "another date"),
    ("199", "two hundred", "another number"),
    ("born in Lisbon in 1987", "born in Lisbon in 1988", "another number"),
    ("in her 30s", "41", "another number"),
    ("2 hours", "1 h 30 min", "another number"),
    ("3/4/1987", "1988-04-03", "another date"),
    ("short black hair", "long black hair", "the opposite"),
    ("left", "right-handed", "the opposite"),
    ("keeper", "captain", "another value"),
    ("north tower", "south tower", "the opposite"),
    ("married", "not married", "one denies the other"),
    ("can swim", "cannot swim", "one denies the other"),
    ("yes", "no", "another value"),
    ("true", "no", "another value"),
]


def test_other_words_for_the_same_are_no_difference() -> None:
    for first, second in SAME:
        assert difference(first, second) == ""
        assert difference(second, first) == ""


def test_another_value_is_reported_with_its_reason() -> None:
    for first, second, why in OTHER:
        assert difference(first, second) == why
        assert difference(second, first) == why


def test_measures_of_different_things_are_not_compared() -> None:
    assert difference("180 cm", "80 kg") == ""


def test_a_name_stands_for_whom_it_names() -> None:
    names = {"ellie": "elena", "elena": "elena"}
    assert difference("Ellie", "Elena", lambda text: names.get(text.lower(), "")) == ""
    assert difference("Ida", "Elena", lambda text: names.get(text.lower(), "")) == "another value"


WORDS = st.lists(
    st.sampled_from(
        ["green", "not", "5", "ft", "1987", "million", "about", "3/4/1987", "'", "May", "h", "30s", ","]
    ),
    max_size=8,
).map(" ".join)


@given(WORDS | st.text(), WORDS | st.text())
@example("9" * 5000, "9" * 400 + " million")
@example("9" * 15 + " million", "1e999")
def test_any_two_texts_can_be_compared_and_the_order_does_not_matter(first: str, second: str) -> None:
    assert bool(difference(first, second)) == bool(difference(second, first))
    assert difference(first, first) == ""
