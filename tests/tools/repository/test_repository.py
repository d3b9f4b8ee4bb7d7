"""What a coder sees: a map that fits, files by line, a search; nothing ignored, binary, huge or secret."""

from __future__ import annotations

import pytest

from podium.tools.repository import (
    CHARACTERS_PER_TOKEN,
    MAX_FILE_BYTES,
    MAX_LINES,
    Repository,
    draw_map,
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
        "[6 lines follow: ask from line 6]"
    )
    assert repository.text("old.txt") == "K?se in the cart\n"
    for path, why in {
        "nowhere.py": "There is no file", "cart.py": "Did you mean src/shop/cart.py?", ".env": "secrets",
        "id_rsa": "secrets", "logo.png": "binary", "huge.txt": "too large", "link.py": "link",
        "../../../etc/passwd": "There is no file", "/etc/passwd": "There is no file",
        "planted.py": "There is no file", "debug.log": "There is no file", "docs": "There is no file",
    }.items():  # fmt: skip
        with pytest.raises(ToolError, match=why):
            repository.lines(path)
    with pytest.raises(ToolError, match="has only 2 lines"):
        repository.lines("docs/guide.md", 3)


async def test_searching_the_repository(repository: Repository) -> None:
    found = (await repository.search("CART")).splitlines()
    assert {line.partition(":")[0] for line in found} == {
        "docs/guide.md", "old.txt", "src/shop/cart.py", "tests/test_cart.py",
    } - {"tests/test_cart.py"}  # fmt: skip
    assert await repository.search(r"class \w+\(", regex=True) == "src/shop/cart.py:4: class Cart(list):"
    assert await repository.search("cart", pattern="*.md") == "docs/guide.md:2: The Cart holds things."
    assert await repository.search("cart", pattern="docs/*") == "docs/guide.md:2: The Cart holds things."
    assert (await repository.search("cart", limit=1)).endswith("[the first 1]")
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
    assert part[-1] == f"[{2_000 - MAX_LINES} lines follow: ask from line {MAX_LINES + 1}]"
    assert len(repository.lines("wide.txt")) < 3_000


@pytest.mark.parametrize(
    ("path", "text", "told"),
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
def test_symbols(path: str, text: str, told: list[str]) -> None:
    assert [symbol.text for symbol in symbols_of(path, text)] == told
