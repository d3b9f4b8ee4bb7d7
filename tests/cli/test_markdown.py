"""Results on a terminal: Markdown rendered, whole, and harmless; raw everywhere else."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from podium.cli.markdown import NARROWEST, is_markdown, print_markdown
from tests.cli.shell import Shell

DOCUMENT = """\
# The plan

An **important** day with `code` and a [link](https://example.org/a).

## Morning

- first
  - nested
- second

1. one
2. two

| hour | what |
|---|---|
| 9:30 | doors open |

### Details

```python
if x_y:  # __not bold__
    go()
```

> said somebody

#### Smaller

Vec<String> and a\\_b stay.
line two of it
"""

WORKFLOW = '''\
import podium

TEXT = """{text}"""


@podium.workflow
async def long(run: podium.Run, request: str) -> str:
    return TEXT + "".join(f"\\n- item number {{n}}" for n in range(120))
'''


def printed(text: str, width: int = 80, encoding: str = "utf-8") -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=file, width=width, force_terminal=True, markup=False, emoji=False, highlight=False)
    print_markdown(console, text)
    file.flush()
    raw = file.buffer.getvalue().decode(encoding)  # pyright: ignore
    return re.sub(r"\x1b\[[0-9;]*m", "", raw)


def test_signs_of_markdown_become_what_they_mean() -> None:
    shown = printed(DOCUMENT)
    assert "**" not in shown
    assert "```" not in shown
    assert "|---" not in shown
    assert "An important day with code and a link (https://example.org/a)." in shown
    assert " • first" in shown
    assert "    • nested" in shown
    assert " 1. one\n 2. two\n" in shown
    assert re.search(r"9:30 +doors open", shown)
    assert "    if x_y:  # __not bold__\n        go()" in shown
    assert "Vec<String> and a_b stay.\nline two of it\n" in shown
    assert [line for line in shown.splitlines() if line != line.rstrip()] == []


def test_a_title_its_parts_and_their_parts_look_different_without_colour() -> None:
    lines = printed(DOCUMENT).splitlines()
    below = {line: lines[number + 1] for number, line in enumerate(lines[:-1])}
    assert below["The plan"] == "═" * 80
    assert below["Morning"] == "─" * len("Morning")
    assert below["Details"] == below["Smaller"] == ""


def test_every_heading_has_a_style_of_its_own() -> None:
    file = io.StringIO()
    print_markdown(Console(file=file, width=80, force_terminal=True, color_system="standard"), DOCUMENT)
    styled = {
        title: re.findall(rf"(\x1b\[[0-9;]*m){title}", file.getvalue())
        for title in ("The plan", "Details", "Smaller")
    }
    assert len({tuple(styles) for styles in styled.values()}) == 3


def test_a_terminal_that_knows_only_ascii_is_given_nothing_else() -> None:
    assert " * first" in printed(DOCUMENT, encoding="ascii")
    assert "?" not in printed(DOCUMENT, encoding="ascii")


@pytest.mark.parametrize("width", [20, 60, 240])
def test_lines_fit_and_nested_lists_end(width: int) -> None:
    deep = "\n".join(f"{'  ' * depth}- level {depth} with more" for depth in range(7))
    shown = printed(deep + "\n\n" + "word " * 200, width=width)
    assert max(map(len, shown.splitlines())) <= max(width, NARROWEST)
    assert shown.count("word") == 200
    assert shown.count("level") == 7


@pytest.mark.parametrize("levels", [12, 80])
@pytest.mark.parametrize("sign", ["> ", "- "])
def test_a_text_that_is_nested_too_deeply_is_shown_as_it_is(sign: str, levels: int) -> None:
    before = "  " if sign == "- " else sign
    text = "\n".join(f"{before * depth}{sign}level {depth}" for depth in range(levels))
    assert printed(f"{text}\n\nthe end", width=400) == f"{text}\n\nthe end\n"


def test_a_text_cannot_steer_the_terminal() -> None:
    shown = printed("# a\x1b]0;title\x07b\n\n![x](javascript:1) \x1b[2J<script>")
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "<script>" in shown


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        (r"- ✓ Write reverse\_words in \<text\>", " • ✓ Write reverse_words in <text>"),
        (r"two \\ backslashes, \[a\] bracket, a \| bar", r"two \ backslashes, [a] bracket, a | bar"),
        (r"`a\_b` is code, a\_b is not", r"a\_b is code, a_b is not"),
        (r"a path C:\new stays", r"a path C:\new stays"),
    ],
)
def test_backslashes_before_signs_are_not_shown(markdown: str, shown: str) -> None:
    assert printed(markdown) == f"{shown}\n"


def test_plain_text_is_not_taken_for_markdown() -> None:
    assert not is_markdown("snake_case and 2 * 3\n  indented\nC:\\new")
    assert all(map(is_markdown, ["# Title", "a **b**", "- x", "`x`", "1. x", "| a |", "[a](b)"]))


def test_a_terminal_shows_the_whole_result_and_a_pipe_its_markdown(podium: Shell) -> None:
    (podium.folder / "long.py").write_text(WORKFLOW.format(text=DOCUMENT.replace("\\", "\\\\")))
    screen = podium.terminal("run", "long.py", "x")
    assert screen.wait() == 0
    assert " • item number 119" in screen.seen
    assert "more line" not in screen.seen
    assert "═══" in screen.seen
    shown = podium.terminal("show", "last", "--output")
    assert shown.wait() == 0
    assert "═══" in shown.seen
    piped = podium("show", "last").out
    assert "# The plan" in piped
    assert "- item number 119" in piped
    assert podium("show", "last", "--output").out.startswith("# The plan\n\nAn **important** day")
    quiet = podium.terminal("run", "long.py", "x", "--quiet")
    assert quiet.wait() == 0
    assert "# The plan" in quiet.seen
    assert "═══" not in quiet.seen
