"""Headings of a Markdown report: those of the deliverable and those of the record do not mix."""

from __future__ import annotations

from podium.report.markdown import below_title


def test_a_title_in_the_deliverable_becomes_a_part_of_the_report() -> None:
    assert below_title("# A\n\n## B\n\n###### C") == "## A\n\n### B\n\n###### C"


def test_a_document_without_a_title_stays() -> None:
    text = "## A\n\ntext\n\n### B"
    assert below_title(text) == text


def test_comments_in_code_are_no_headings() -> None:
    text = "# A\n\n```sh\n# comment\n~~~\n```\n\n~~~\n# two\n~~~~\n\n# B"
    assert below_title(text) == "## A\n\n```sh\n# comment\n~~~\n```\n\n~~~\n# two\n~~~~\n\n## B"
