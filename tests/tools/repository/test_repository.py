"""What a coder sees: a map that fits, files by line, a search; nothing ignored, binary, huge or secret."""

from __future__ import annotations

import re

import pytest

from podium.tools.repository import (
    CHARACTERS_PER_TOKEN,
    MAX_FILE_BYTES,
    MAX_LINES,
    Repository,
    draw_map,
    find_declarations,
    symbols_of,
)
from podium.tools.tool import ToolError
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.users import UserRepository

FILES = {
    "src/shop/cart.py": (
        "LIMIT = 10\n\n\nclass Cart(list):\n    def total(self, tax: float = 0.0) -> float:\n"
        "        return 0.0\n\n"
        "    async def pay(self, *cards, **more): ...\n\n\ndef empty(cart): ...\n"
    ),
    "src/shop/web.ts": "export async function serve(port: number): Promise<void> {\n}\n"
    "export class Page {\n}\n",
    "tests/test_cart.py": "def test_total():\n    assert True\n",
    "docs/guide.md": "# Guide\nThe Cart holds things.\n",
    ".gitignore": "*.log\n",
    ".env": "KEY=very secret cart\n",
    "id_rsa": "very secret cart\n",
    "secrets.py": "def rotate(): ...\n",
}


@pytest.fixture
async def repository(opened: Opener, user: UserRepository) -> Repository:
    user.git("rm", "-rqf", ".")
    for path, text in FILES.items():
        user.write(path, text)
    (user.folder / "logo.png").write_bytes(b"\x89PNG\0\0\0 cart")
    (user.folder / "huge.txt").write_text("cart\n" * 300_000)
    (user.folder / "old.txt").write_bytes("Käse in the cart\r\n".encode("latin-1"))
    (user.folder / "link.py").symlink_to("/etc/passwd")
    user.commit("Shop")
    user.write("debug.log", "cart\n")
    workspace = await opened(user.folder)
    (workspace.folder / "planted.py").write_text("cart = 'written by a test'\n")
    return Repository(workspace)


async def test_reading_the_repository(repository: Repository) -> None:
    assert repository.paths() == [
        ".gitignore",
        "docs/guide.md",
        "logo.png",
        "old.txt",
        "secrets.py",
        "src/shop/cart.py",
        "src/shop/web.ts",
        "tests/test_cart.py",
    ]
    assert repository.lines("docs/guide.md") == "1  # Guide\n2  The Cart holds things."
    assert repository.lines("src/shop/cart.py", 4, 5) == (
        "4  class Cart(list):\n5      def total(self, tax: float = 0.0) -> float:\n"
        "[6 lines follow, from line 6]"
    )
    assert repository.text("old.txt") == "K?se in the cart\n"
    for path, why in {
        "nowhere.py": "There is no file",
        "cart.py": "Did you mean src/shop/cart.py?",
        ".env": "secrets",
        "id_rsa": "secrets",
        "logo.png": "binary",
        "link.py": "link",
        "../../../etc/passwd": "There is no file",
        "/etc/passwd": "There is no file",
        "planted.py": "There is no file",
        "debug.log": "There is no file",
        "docs": "There is no file",
    }.items():
        with pytest.raises(ToolError, match=why):
            repository.lines(path)
    with pytest.raises(ToolError, match="has only 2 lines"):
        repository.lines("docs/guide.md", 3)


async def test_searching_the_repository(repository: Repository) -> None:
    lines = (await repository.search("CART")).splitlines()
    assert {line.partition(":")[0] for line in lines} == {
        "docs/guide.md",
        "huge.txt",
        "[more lines match",
    }
    assert await repository.search(r"class \w+\(", regex=True) == "src/shop/cart.py:4: class Cart(list):"
    assert await repository.search("cart", pattern="*.md") == "docs/guide.md:2: The Cart holds things."
    assert await repository.search("cart", pattern="docs/*") == "docs/guide.md:2: The Cart holds things."
    assert (await repository.search("cart", limit=1)).endswith("[more lines match: offset 1]")
    assert await repository.search("no such words") == "Nothing found."
    with pytest.raises(ToolError, match="not a regular expression"):
        await repository.search("(", regex=True)
    with pytest.raises(ToolError, match="1 to 500"):
        await repository.search("")


async def test_the_map_shows_files_and_what_they_declare(repository: Repository) -> None:
    drawn = await draw_map(repository, 1_000)
    assert drawn.splitlines()[:6] == [
        ".gitignore",
        "docs/",
        "  guide.md",
        "logo.png",
        "old.txt",
        "secrets.py",
    ]
    assert (
        "src/shop/cart.py:\n  1: LIMIT\n  4: class Cart(list)\n"
        "    5: def total(self, tax: float=0.0) -> float\n"
        "    8: async def pay(self, *cards, **more)\n  11: def empty(cart)" in drawn
    )
    assert (
        "src/shop/web.ts:\n  1: export async function serve(port: number): Promise<void>\n"
        "  3: export class Page" in drawn
    )
    assert "very secret" not in drawn
    assert drawn.index("src/shop/cart.py:") < drawn.index("tests/test_cart.py:"), "code before tests"
    named = await draw_map(repository, 1_000, named=["tests/test_cart.py"])
    assert named.index("tests/test_cart.py:") < named.index("src/shop/cart.py:")


@pytest.mark.parametrize("tokens", [60, 100, 200, 400, 2_000])
async def test_a_map_keeps_to_its_tokens(opened: Opener, user: UserRepository, tokens: int) -> None:
    for number in range(120):
        user.write(
            f"pkg{number % 7}/deep{number % 5}/mod{number}.py", f"def function_{number}(a, b): ...\n" * 20
        )
    user.commit("Many")
    drawn = await draw_map(Repository(await opened(user.folder)), tokens)
    assert len(drawn) <= max(260, tokens * CHARACTERS_PER_TOKEN)
    assert "pkg0/" in drawn


async def test_a_long_file_is_read_part_by_part(opened: Opener, user: UserRepository) -> None:
    user.write("long.txt", "".join(f"{number}\n" for number in range(1, 2_001)))
    user.write("wide.txt", "x" * (MAX_FILE_BYTES - 10))
    user.commit("Long")
    repository = Repository(await opened(user.folder))
    part = repository.lines("long.txt").splitlines()
    assert len(part) == MAX_LINES + 1
    assert part[-1] == f"[{2_000 - MAX_LINES} lines follow, from line {MAX_LINES + 1}]"
    with pytest.raises(ToolError, match="too large"):
        repository.text("wide.txt", 1_000)


def read_on(repository: Repository, path: str, limit: int) -> str:
    """Read a whole file by following the notes; return its text without the line numbers."""
    lines, first, offset = dict[int, str](), 1, 0
    for _ in range(10_000):
        part = repository.lines(path, first, offset=offset, limit=limit)
        assert len(part) <= limit
        *shown, note = part.split("\n")
        cut = re.fullmatch(r"\[line (\d+) goes on for [\d,]+ characters: first line \1, offset (\d+)\]", note)
        rest = re.fullmatch(r"\[\d+ lines follow, from line (\d+)\]", note)
        for line in shown if cut or rest else [*shown, note]:
            number, _, text = line.lstrip().partition("  ")
            lines[int(number)] = lines.get(int(number), "") + text
        if cut:
            first, offset = int(cut[1]), int(cut[2])
        elif rest:
            first, offset = int(rest[1]), 0
        else:
            return "".join(f"{line}\n" for line in lines.values())
    raise AssertionError("the notes lead nowhere")


@pytest.mark.parametrize("limit", [300, 5_000, 40_000])
async def test_nothing_is_lost_when_the_notes_are_followed(
    opened: Opener, user: UserRepository, limit: int
) -> None:
    wide = "".join(f"{number:06d}" for number in range(limit))
    text = f"  short\n{wide}\n\n\tend {wide[:limit]}\nlast\n"
    user.write("wide.txt", text)
    user.commit("Wide")
    assert read_on(Repository(await opened(user.folder)), "wide.txt", limit) == text


async def test_a_huge_file_is_read_in_ranges(repository: Repository) -> None:
    assert repository.lines("huge.txt", 299_999) == "299999  cart\n300000  cart"
    assert repository.lines("huge.txt", 5, 5) == "5  cart\n[299995 lines follow, from line 6]"
    with pytest.raises(ToolError, match="too large"):
        repository.text("huge.txt")
    with pytest.raises(ToolError, match="has only 4 characters"):
        repository.lines("huge.txt", 5, offset=4)


async def test_a_search_keeps_indentation_and_shows_context(repository: Repository) -> None:
    assert await repository.search("def total") == (
        "src/shop/cart.py:5:     def total(self, tax: float = 0.0) -> float:"
    )
    assert await repository.search("return", context=1, pattern="*.py") == (
        "src/shop/cart.py-5-     def total(self, tax: float = 0.0) -> float:\n"
        "src/shop/cart.py:6:         return 0.0\n"
        "src/shop/cart.py-7- "
    )
    both = await repository.search(r"LIMIT|class|def empty", regex=True, context=2, pattern="*.py")
    assert both.splitlines() == [
        "src/shop/cart.py:1: LIMIT = 10",
        "src/shop/cart.py-2- ",
        "src/shop/cart.py-3- ",
        "src/shop/cart.py:4: class Cart(list):",
        "src/shop/cart.py-5-     def total(self, tax: float = 0.0) -> float:",
        "src/shop/cart.py-6-         return 0.0",
        "--",
        "src/shop/cart.py-9- ",
        "src/shop/cart.py-10- ",
        "src/shop/cart.py:11: def empty(cart): ...",
    ]


@pytest.mark.parametrize(("limit", "context", "characters"), [(7, 0, 40_000), (50, 0, 1_000), (50, 3, 1_000)])
async def test_a_search_goes_on_where_it_was_cut(
    opened: Opener, user: UserRepository, limit: int, context: int, characters: int
) -> None:
    user.write("many.txt", "".join(f"  match {number} {'x' * 40}\n\n" for number in range(90)))
    user.write("wide.txt", "match " + "y" * 5_000)
    user.commit("Many")
    repository, numbers, offset, answer = Repository(await opened(user.folder)), list[int](), 0, ""
    for _ in range(100):
        answer = await repository.search(
            "match", limit=limit, context=context, offset=offset, characters=characters
        )
        assert len(answer) <= characters
        numbers += [int(number) for number in re.findall(r"^many\.txt:\d+:   match (\d+)", answer, re.M)]
        note = re.search(r"^\[more lines match: offset (\d+)\]$", answer, re.M)
        if not note:
            break
        offset = int(note[1])
    assert numbers == list(range(90))
    assert "yyy… [5,006 characters]" in answer
    with pytest.raises(ToolError, match="only 91 matches"):
        await repository.search("match", offset=91)


async def test_files_are_listed_with_sizes(repository: Repository) -> None:
    assert repository.list_files("src/").splitlines() == [
        f"src/shop/cart.py ({len(FILES['src/shop/cart.py'])} bytes)",
        f"src/shop/web.ts ({len(FILES['src/shop/web.ts'])} bytes)",
    ]
    assert repository.list_files("*.md") == f"docs/guide.md ({len(FILES['docs/guide.md'])} bytes)"
    every = repository.list_files()
    assert "huge.txt (1,500,000 bytes)" in every
    assert "link.py (link)" in every
    assert ".env" not in every
    assert "is no folder" in repository.list_files("nowhere")


async def test_a_long_listing_goes_on(opened: Opener, user: UserRepository) -> None:
    for number in range(700):
        user.write(f"many/{number:04d}.txt", "")
    user.commit("Many")
    repository, names, offset = Repository(await opened(user.folder)), list[str](), 0
    while True:
        answer = repository.list_files("many", offset=offset, limit=3_000)
        assert len(answer) <= 3_000
        names += re.findall(r"^many/(\d+)\.txt \(0 bytes\)$", answer, re.M)
        note = re.search(r"\[[\d,]+ files follow: offset (\d+)\]$", answer)
        if not note:
            break
        offset = int(note[1])
    assert names == [f"{number:04d}" for number in range(700)]
    with pytest.raises(ToolError, match="only 700 files"):
        repository.list_files("many", offset=700)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "a.go",
            "func (c *Cart) Total(x int) int {\n}\ntype Cart struct {\n",
            ["func (c *Cart) Total(x int) int", "type Cart struct"],
        ),
        (
            "a.rs",
            "pub fn add(a: i32) -> i32 {\n}\nimpl Cart {\n    fn total(&self) {}\n}\n",
            ["pub fn add(a: i32) -> i32", "impl Cart", "fn total(&self)"],
        ),
        (
            "a.js",
            "const add = (a, b) => a\nfunction sub(a) {\n}\nlet x = 1\n",
            ["const add = (a, b) =>", "function sub(a)"],
        ),
        (
            "A.java",
            "public class A {\n    public int total(int x) {\n",
            ["public class A", "public int total(int x)"],
        ),
        ("a.rb", "class Cart\n  def total(x)\n", ["class Cart", "def total(x)"]),
        ("a.py", "def broken(:\n", []),
        ("a.xyz", "anything", []),
        ("a.js", "function f() {" + "x" * 1_000, []),
    ],
)
def test_symbols(path: str, text: str, expected: list[str]) -> None:
    assert [symbol.text for symbol in symbols_of(path, text)] == expected


async def test_declarations_that_a_text_names(repository: Repository) -> None:
    cart, page = "src/shop/cart.py", "src/shop/web.ts"
    assert await find_declarations(
        repository, "Let serve and Cart.total() take a port, and fix test_total."
    ) == (
        f"{cart}:5: def total(self, tax: float=0.0) -> float\n"
        "tests/test_cart.py:1: def test_total()\n"
        f"{cart}:4: class Cart(list)\n"
        f"{page}:1: export async function serve(port: number): Promise<void>"
    )
    assert await find_declarations(repository, "Write `Page`, LIMIT and rotate_all down.") == (
        f"{cart}:1: LIMIT\n{page}:3: export class Page"
    )
    assert await find_declarations(repository, "Make the total less empty-handed.") != "", "words count, too"
    assert await find_declarations(repository, "Write a story.") == ""
