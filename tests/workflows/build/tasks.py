"""Twenty small programming tasks: a wrong solution that looks right, the right one, and tests that tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    name: str
    wrong: str
    right: str
    tests: str

    @property
    def file(self) -> str:
        return f"{self.name}.py"

    @property
    def test_file(self) -> str:
        return f"test_{self.name}.py"


def task(name: str, arguments: str, wrong: str, right: str, *cases: tuple[str, str]) -> Task:
    """Bodies as source; cases as arguments and the expected result."""

    def function(body: str) -> str:
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        return f"def {name}({arguments}):\n{lines}\n"

    checks = "\n".join(f"    assert {name}({given}) == {expected}" for given, expected in cases)
    tests = f"from {name} import {name}\n\n\ndef test_{name}():\n{checks}\n"
    return Task(name, function(wrong), function(right), tests)


TASKS = [
    task(
        "median",
        "values",
        "values = sorted(values)\nreturn values[len(values) // 2]",
        "values = sorted(values)\nhalf = len(values) // 2\n"
        "return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2",
        ("[3, 1, 2]", "2"),
        ("[1, 2, 3, 4]", "2.5"),
    ),
    task(
        "chunks",
        "items, size",
        "return [items[at:at + size] for at in range(0, len(items) - 1, size)]",
        "return [items[at:at + size] for at in range(0, len(items), size)]",
        ("[1, 2, 3, 4], 2", "[[1, 2], [3, 4]]"),
        ("[1, 2, 3], 2", "[[1, 2], [3]]"),
        ("[1], 2", "[[1]]"),
    ),
    task(
        "is_leap",
        "year",
        "return year % 4 == 0",
        "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
        ("2024", "True"),
        ("1900", "False"),
        ("2000", "True"),
        ("2023", "False"),
    ),
    task(
        "roman",
        "number",
        "table = [(10, 'X'), (5, 'V'), (1, 'I')]\nout = ''\nfor value, sign in table:\n"
        "    while number >= value:\n        out += sign\n        number -= value\nreturn out",
        "table = [(10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')]\nout = ''\n"
        "for value, sign in table:\n    while number >= value:\n        out += sign\n"
        "        number -= value\nreturn out",
        ("3", "'III'"),
        ("8", "'VIII'"),
        ("9", "'IX'"),
        ("14", "'XIV'"),
    ),
    task(
        "balanced",
        "text",
        "return text.count('(') == text.count(')')",
        "depth = 0\nfor sign in text:\n    depth += (sign == '(') - (sign == ')')\n    if depth < 0:\n"
        "        return False\nreturn depth == 0",
        ("'(a(b))'", "True"),
        ("')('", "False"),
        ("'(('", "False"),
    ),
    task(
        "flatten",
        "items",
        "return [one for item in items for one in (item if isinstance(item, list) else [item])]",
        "out = []\nfor item in items:\n    out.extend(flatten(item) if isinstance(item, list) else [item])\n"
        "return out",
        ("[1, [2, 3]]", "[1, 2, 3]"),
        ("[1, [2, [3, [4]]]]", "[1, 2, 3, 4]"),
    ),
    task(
        "gcd",
        "a, b",
        "return a if b == 0 else gcd(b, a - b)",
        "return abs(a) if b == 0 else gcd(b, a % b)",
        ("12, 12", "12"),
        ("12, 18", "6"),
        ("-4, 6", "2"),
        ("7, 0", "7"),
    ),
    task(
        "unique",
        "items",
        "return list(set(items))",
        "return list(dict.fromkeys(items))",
        ("['b', 'a', 'b', 'c']", "['b', 'a', 'c']"),
        ("list('mississippi')", "['m', 'i', 's', 'p']"),
    ),
    task(
        "caesar",
        "text, shift",
        "return ''.join(chr(ord(sign) + shift) if sign.isalpha() else sign for sign in text)",
        "def moved(sign):\n    base = ord('A') if sign.isupper() else ord('a')\n"
        "    return chr((ord(sign) - base + shift) % 26 + base)\n\n"
        "return ''.join(moved(sign) if sign.isalpha() else sign for sign in text)",
        ("'abc', 1", "'bcd'"),
        ("'xyz', 3", "'abc'"),
        ("'Zoo!', 1", "'App!'"),
    ),
    task(
        "binary_search",
        "items, wanted",
        "low, high = 0, len(items) - 1\nwhile low < high:\n    middle = (low + high) // 2\n"
        "    if items[middle] == wanted:\n        return middle\n    if items[middle] < wanted:\n"
        "        low = middle + 1\n    else:\n        high = middle - 1\nreturn -1",
        "low, high = 0, len(items) - 1\nwhile low <= high:\n    middle = (low + high) // 2\n"
        "    if items[middle] == wanted:\n        return middle\n    if items[middle] < wanted:\n"
        "        low = middle + 1\n    else:\n        high = middle - 1\nreturn -1",
        ("[1, 3, 5], 3", "1"),
        ("[1, 3, 5], 5", "2"),
        ("[1], 1", "0"),
        ("[], 1", "-1"),
    ),
    task(
        "word_count",
        "text",
        "found = {}\nfor word in text.split():\n    found[word] = found.get(word, 0) + 1\nreturn found",
        "found = {}\nfor word in text.lower().split():\n    word = word.strip('.,!?')\n"
        "    if word:\n        found[word] = found.get(word, 0) + 1\nreturn found",
        ("'a b a'", "{'a': 2, 'b': 1}"),
        ("'Be, or to be!'", "{'be': 2, 'or': 1, 'to': 1}"),
    ),
    task(
        "transpose",
        "rows",
        "return [[row[at] for row in rows] for at in range(len(rows))]",
        "return [list(column) for column in zip(*rows)]",
        ("[[1, 2], [3, 4]]", "[[1, 3], [2, 4]]"),
        ("[[1, 2, 3]]", "[[1], [2], [3]]"),
    ),
    task(
        "clamp",
        "value, low, high",
        "return min(max(value, high), low)",
        "return max(low, min(value, high))",
        ("5, 0, 10", "5"),
        ("-1, 0, 10", "0"),
        ("11, 0, 10", "10"),
    ),
    task(
        "run_length",
        "text",
        "out = []\nfor sign in sorted(set(text)):\n    out.append((sign, text.count(sign)))\nreturn out",
        "out = []\nfor sign in text:\n    if out and out[-1][0] == sign:\n"
        "        out[-1] = (sign, out[-1][1] + 1)\n    else:\n        out.append((sign, 1))\nreturn out",
        ("'aab'", "[('a', 2), ('b', 1)]"),
        ("'aba'", "[('a', 1), ('b', 1), ('a', 1)]"),
        ("''", "[]"),
    ),
    task(
        "merge_sorted",
        "left, right",
        "return left + right",
        "out, left, right = [], list(left), list(right)\nwhile left and right:\n"
        "    out.append((left if left[0] <= right[0] else right).pop(0))\nreturn out + left + right",
        ("[1, 2], [3]", "[1, 2, 3]"),
        ("[1, 4], [2, 3]", "[1, 2, 3, 4]"),
        ("[], [1]", "[1]"),
    ),
    task(
        "parse_duration",
        "text",
        "return int(text[:-1]) * {'s': 1, 'm': 60, 'h': 3600}[text[-1]]",
        "total, number, units = 0, '', {'s': 1, 'm': 60, 'h': 3600}\nfor sign in text:\n"
        "    if sign.isdigit():\n        number += sign\n    else:\n"
        "        total += int(number) * units[sign]\n        number = ''\nreturn total",
        ("'90s'", "90"),
        ("'2h'", "7200"),
        ("'1h30m'", "5400"),
    ),
    task(
        "snake_case",
        "name",
        "return ''.join('_' + sign.lower() if sign.isupper() else sign for sign in name)",
        "words = ''.join('_' + sign.lower() if sign.isupper() else sign for sign in name)\n"
        "return words.lstrip('_')",
        ("'fooBar'", "'foo_bar'"),
        ("'FooBar'", "'foo_bar'"),
        ("'foo'", "'foo'"),
    ),
    task(
        "digits",
        "number",
        "out = []\nwhile number:\n    out.insert(0, number % 10)\n    number //= 10\nreturn out",
        "return [int(digit) for digit in str(abs(number))]",
        ("123", "[1, 2, 3]"),
        ("0", "[0]"),
        ("-40", "[4, 0]"),
    ),
    task(
        "moving_average",
        "values, size",
        "return [sum(values[at:at + size]) / size for at in range(len(values))]",
        "return [sum(values[at:at + size]) / size for at in range(len(values) - size + 1)]",
        ("[1, 2, 3], 1", "[1, 2, 3]"),
        ("[1, 2, 3, 4], 2", "[1.5, 2.5, 3.5]"),
    ),
    task(
        "anagrams",
        "words",
        "found = {}\nfor word in words:\n    found.setdefault(frozenset(word), []).append(word)\n"
        "return list(found.values())",
        "found = {}\nfor word in words:\n    found.setdefault(''.join(sorted(word)), []).append(word)\n"
        "return list(found.values())",
        ("['ab', 'ba', 'c']", "[['ab', 'ba'], ['c']]"),
        ("['ab', 'aab']", "[['ab'], ['aab']]"),
    ),
]
