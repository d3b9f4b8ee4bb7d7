"""Whom an article cites, what is wrong with it, and that an invented source does not stay in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.workflows.research.measures.citations import check_citations, cited_by_name, cited_ids, only_known
from podium.workflows.research.measures.markup import CITATION, ids_of
from podium.workflows.research.measures.styles import render
from tests.workflows.research.measures.sources import AGENCY, EVERY, source

SOURCES = [source(number) for number in (1, 2, 3)]


def test_ids_are_reported_once_in_the_order_of_reading() -> None:
    assert cited_ids("b [@s2; @s1].\n\n- c [@s3]\n\n| x [@s1] |\n|---|\n") == ["s2", "s1", "s3"]


def test_what_stands_in_code_is_no_citation() -> None:
    assert cited_ids("`[@s1]`\n\n```\n[@s2]\n```\n\n\\[@s3]") == []


def test_a_listed_source_that_is_never_cited_is_an_orphan() -> None:
    found = check_citations("It grew by 30 percent [@s1].", SOURCES)
    assert found.orphans == ("s2", "s3")
    assert (found.missing, found.unknown, found.accuracy) == ((), (), 1.0)


def test_a_figure_without_citation_is_missing_one() -> None:
    found = check_citations(
        "It grew by 30 percent [@s1]. Prices fell to 4 dollars. It is nice. Why 5?", SOURCES
    )
    assert found.missing == ("Prices fell to 4 dollars.",)
    assert found.accuracy == 0.5


def test_an_unknown_id_is_reported_and_counts_against_accuracy() -> None:
    found = check_citations("It is so [@s1; @s9]. It is not [@s2].", SOURCES)
    assert found.unknown == ("s9",)
    assert found.accuracy == pytest.approx(2 / 3)


@pytest.mark.parametrize("text", ["", "Nothing is cited here.", "# Title"])
def test_an_article_that_cites_nobody_is_not_accurate(text: str) -> None:
    assert check_citations(text, SOURCES).accuracy == 0.0


# ── invented sources ──


@pytest.mark.parametrize(
    ("before", "after", "logged"),
    [
        ("So [@s9].", "So.", "Cited s9, which is not a source of this run."),
        ("So [@s1; @s9].", "So [@s1].", "Cited s9, which is not a source of this run."),
        ("So [@s9, p. 4].", "So.", "Cited s9, which is not a source of this run."),
        ("`[@s9]`", "``", "Cited s9, which is not a source of this run."),
        (
            "See [here](https://evil.example/a).",
            "See here.",
            "Linked to something that is not a source of this run: [here](https://evil.example/a)",
        ),
        (
            "See [here](javascript:alert(1)).",
            "See here.",
            "Linked to something that is not a source of this run: [here](javascript:alert(1))",
        ),
        (
            'See [here](https://evil.example "x").',
            "See here.",
            'Linked to something that is not a source of this run: [here](https://evil.example "x")',
        ),
        (
            "![pixel](https://evil.example/p.png) x",
            "pixel x",
            "Linked to something that is not a source of this run: ![pixel](https://evil.example/p.png)",
        ),
        (
            "Read https://evil.example/a?b=c.",
            "Read.",
            "Named an address that is not a source of this run: https://evil.example/a?b=c",
        ),
        (
            "Read <https://evil.example> now",
            "Read now",
            "Named an address that is not a source of this run: <https://evil.example>",
        ),
        ("Shown [12] and [3, 4].", "Shown and.", "Cited by number: [12]"),
        (
            "Shown[^1].\n\n[^1]: Invented, 2020.\n",
            "Shown.\n\n",
            "Wrote its own footnote: [^1]: Invented, 2020.",
        ),
    ],
)
def test_an_invented_source_is_taken_out_and_reported(before: str, after: str, logged: str) -> None:
    found = only_known(before, SOURCES)
    assert found.markdown == after
    assert logged in found.removed


@pytest.mark.parametrize(
    "text",
    [
        "So [@s1; @s2].",
        "See [here](https://example.org/1).",
        "At https://www.example.org/2/ it is.",
        "`a[0]` stays",
        "```\nx[12] = [^1]\nhttps://a.example\n```",
        "- [ ] a task",
        "A [note] in brackets.",
        "",
    ],
)
def test_what_is_real_stays(text: str) -> None:
    assert only_known(text, SOURCES) == only_known(text, SOURCES).__class__(text, ())


@given(st.text(alphabet="ab [@s19;,](){}<>`\n\\^:!.|#*_-htp/", max_size=200))
def test_no_unknown_id_survives_whatever_surrounds_it(text: str) -> None:
    found = only_known(text, SOURCES)
    left = {one for group in CITATION.findall(found.markdown) for one in ids_of(group)}
    assert left <= {"s1", "s2", "s3"}
    assert "s9" not in cited_ids(found.markdown)
    for style in ("apa", "mla", "chicago", "numeric"):
        assert render(found.markdown, SOURCES, style)


def test_citations_by_name_are_reported() -> None:
    text = (
        "So (Smith, 2020) and (Lee & Kim, 2019, p. 3) and (Ng et al., 2021) but not (May 2020) or (in 2020)."
    )
    assert cited_by_name(text) == ["(Smith, 2020)", "(Lee & Kim, 2019, p. 3)", "(Ng et al., 2021)"]


# ── styles ──

CITING = "One [@s1]. Two [@s2; @s4]. Three [@s3, @s5]. Four [@s6]."


@pytest.mark.parametrize(
    ("style", "text"),
    [
        (
            "apa",
            "One (International Energy Agency, 2024). Two (van der Berg et al., 2023a; van der Berg et al.,"
            " 2023b)."
            " Three (“Notes on storage,” n.d.; Wei & O'Brien, 2020). Four (Park, n.d.).",
        ),
        (
            "mla",
            "One (International Energy Agency). Two (van der Berg et al., “A study of grids”; van der Berg"
            " et al.,"
            " “Grids again”). Three (“Notes on storage”; Wei and O'Brien). Four (Park).",
        ),
        (
            "chicago",
            "One (International Energy Agency 2024). Two (van der Berg et al. 2023a; van der Berg et al."
            " 2023b). Three (“Notes on storage,” n.d.; Wei and O'Brien 2020). Four (Park, n.d.).",
        ),
        ("numeric", "One [1]. Two [2, 3]. Three [4, 5]. Four [6]."),
    ],
)
def test_citations_in_the_text(style: str, text: str) -> None:
    assert render(CITING, EVERY, style).markdown == text


LISTS = {
    "apa": """\
- International Energy Agency. (2024, March 5). *Solar power in 2024: what changed?* iea.example. <https://www.iea.example/solar(2024)>
- *Notes on storage.* (n.d.). Document notes/storage.md.
- Park, J. (n.d.). *Undated page.* blog.example. Retrieved November 15, 2026, from <https://blog.example/x>
- van der Berg, J., Smith, J. Q., & Ruiz, A. (2023a). *A study of grids.* arxiv.example. <https://arxiv.example/abs/2401.1>
- van der Berg, J., Smith, J. Q., & Ruiz, A. (2023b, November). *Grids again.* arxiv.example. <https://arxiv.example/abs/2402.2>
- Wei, L., & O'Brien, M. (2020, January 2). *Two people.* example.org. <https://example.org/5>""",
    "mla": """\
- International Energy Agency. “Solar power in 2024: what changed?” *iea.example*, 5 Mar. 2024, <https://www.iea.example/solar(2024)>.
- “Notes on storage.” Document notes/storage.md.
- Park, Jo. “Undated page.” *blog.example*, <https://blog.example/x>. Accessed 15 Nov. 2026.
- van der Berg, Jane, et al. “A study of grids.” *arxiv.example*, 2023, <https://arxiv.example/abs/2401.1>.
- van der Berg, Jane, et al. “Grids again.” *arxiv.example*, Nov. 2023, <https://arxiv.example/abs/2402.2>.
- Wei, Li, and Mary O'Brien. “Two people.” *example.org*, 2 Jan. 2020, <https://example.org/5>.""",
    "chicago": """\
- International Energy Agency. 2024. “Solar power in 2024: what changed?” iea.example. March 5, 2024. <https://www.iea.example/solar(2024)>
- “Notes on storage.” n.d. Document notes/storage.md.
- Park, Jo. n.d. “Undated page.” blog.example. Accessed November 15, 2026. <https://blog.example/x>
- van der Berg, Jane, John Q. Smith, and Ana Ruiz. 2023a. “A study of grids.” arxiv.example. <https://arxiv.example/abs/2401.1>
- van der Berg, Jane, John Q. Smith, and Ana Ruiz. 2023b. “Grids again.” arxiv.example. November 2023. <https://arxiv.example/abs/2402.2>
- Wei, Li, and Mary O'Brien. 2020. “Two people.” example.org. January 2, 2020. <https://example.org/5>""",
    "numeric": """\
1. International Energy Agency. *Solar power in 2024: what changed?* iea.example, March 5, 2024. <https://www.iea.example/solar(2024)>
2. Jane van der Berg, John Q. Smith, Ana Ruiz. *A study of grids.* arxiv.example, 2023. <https://arxiv.example/abs/2401.1>
3. Jane van der Berg, John Q. Smith, Ana Ruiz. *Grids again.* arxiv.example, November 2023. <https://arxiv.example/abs/2402.2>
4. *Notes on storage.* Document notes/storage.md.
5. Li Wei, Mary O'Brien. *Two people.* example.org, January 2, 2020. <https://example.org/5>
6. Jo Park. *Undated page.* blog.example, no date. <https://blog.example/x>""",
}


@pytest.mark.parametrize("style", list(LISTS))
def test_the_list_of_references(style: str) -> None:
    assert render(CITING, EVERY, style).bibliography == LISTS[style]


def test_only_what_is_cited_is_listed_and_numbers_follow_the_text() -> None:
    found = render("First [@s3]. Then [@s1].", SOURCES, "numeric")
    assert found.markdown == "First [1]. Then [2]."
    assert found.bibliography.splitlines()[0].startswith("1. *Title 3.*")
    assert "Title 2" not in found.bibliography


@pytest.mark.parametrize("style", list(LISTS))
def test_ids_of_no_source_leave_nothing(style: str) -> None:
    assert render("So [@s9].", SOURCES, style) == ("So.", "")


@pytest.mark.parametrize("style", list(LISTS))
def test_nothing_that_a_source_says_of_itself_is_markup(style: str) -> None:
    evil = source(
        1,
        title="](javascript:x) <b>*x*</b> `c` [@s2]\n# h",
        authors=["<script>*a*", "[b](c)"],
        url="javascript:alert(1)",
        published="yesterday<script>",
    )
    found = render("So [@s1].", [evil], style)
    for text in found:
        assert "<b>" not in text.replace("\\<", "")
        assert "\n#" not in text
        assert "javascript:alert" not in text
        assert "](" not in text.replace("\\]", "")


def test_more_authors_than_a_style_lists() -> None:
    many = source(1, authors=[f"Ann Name{number}" for number in range(25)], published="2020")
    assert "Name18, A., …, & Name24, A. (2020)" in render("[@s1]", [many], "apa").bibliography
    assert "Name0, Ann, et al." in render("[@s1]", [many], "mla").bibliography
    assert "Ann Name6, et al. 2020." in render("[@s1]", [many], "chicago").bibliography
    assert "Ann Name2 et al." in render("[@s1]", [many], "numeric").bibliography


def test_more_sources_of_one_year_than_letters() -> None:
    many = [source(number, authors=["Ann Lee"], published="2020") for number in range(1, 30)]
    text = " ".join(f"[@s{number}]" for number in range(1, 30))
    assert "(Lee, 2020z) (Lee, 2020aa)" in render(text, many, "apa").markdown


def test_a_number_before_a_bracket_is_no_link() -> None:
    assert render("[@s1](https://evil.example)", [AGENCY]).markdown == "\\[1\\](https://evil.example)"


def test_an_unknown_style_is_by_number() -> None:
    assert render("a [@s1]", [AGENCY], "bluebook").bibliography.startswith("1. ")
