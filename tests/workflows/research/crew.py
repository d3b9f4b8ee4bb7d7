"""A model that follows a script, sources that are always the same, and a clock that does not wait."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

import podium
from podium.agents.ask import Run
from podium.engine.codec import decode
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.engine.workflow import Workflow
from podium.settings import Settings
from podium.tools.sources.providers import WORKERS as KINDS
from podium.tools.sources.providers import Found, Retrieved
from podium.tools.tool import ToolError, unfenced
from podium.workflows.research.flow import research_with
from podium.workflows.research.library import SearchAnswer, Shelf
from tests.workflows.scripted import BARE

FILLERS = (
    "The matter has more than one side, and people weigh it in their own way.",
    "It helps to look at the whole before the parts are judged.",
    "Much depends on where one stands and on what one hopes for.",
    "There is no need to hurry, for the parts fit well together.",
    "Those who know it well speak of it with care and good sense.",
)
"""Sentences that claim nothing, so that they need no source."""
SCORES = {"complete": 5, "correct": 5, "usable": 5, "fitting": 5}
_SOURCE = re.compile(r"from source (s\d+)\n.*?\n\n(.*?)\nEND UNTRUSTED", re.DOTALL)
_CLAIM = re.compile(r"^- (c\d+) \(cites ([^)]*)\): (.*)$", re.MULTILINE)


class Shelves:
    """Sources that are handed in: so many for each worker. A worker in `failing` fails so often first."""

    def __init__(
        self, counts: Mapping[str, int] | None = None, failing: Mapping[str, int] | None = None
    ) -> None:
        self.counts = {"web_search": 4, "news_search": 3, "academic_search": 7, **(counts or {})}
        self.left = Counter(failing or {})
        self.asked: list[tuple[str, str]] = []

    def __call__(self, settings: Settings, corpus: str, online: bool) -> Shelves:
        return self

    async def look(self, at: str) -> Shelf:
        return Shelf(0)

    async def search(self, worker: str, query: str, limit: int) -> SearchAnswer:
        self.asked.append((worker, query))
        self._fail(worker)
        return SearchAnswer([hit(worker, nth) for nth in range(1, self.counts.get(worker, 0) + 1)])

    async def read(self, hit: Found, at: str) -> Retrieved:
        self.asked.append(("read", hit.url))
        self._fail("web_scraper")
        text = f"{hit.snippet} The whole text of {hit.title} goes on from here."
        return Retrieved(
            hit.url,
            hit.title,
            text,
            hit.kind,
            hit.published,
            hit.authors,
            at,
            hashlib.sha256(text.encode()).hexdigest(),
            "text/html",
        )

    def _fail(self, worker: str) -> None:
        if self.left[worker] > 0:
            self.left[worker] -= 1
            raise ToolError(f"{worker} took longer than 15 s.")


def hit(worker: str, nth: int) -> Found:
    kind = KINDS[worker]
    return Found(
        f"{kind.capitalize()} report {nth}",
        f"https://{kind}.example.org/{nth}",
        f"The {kind} report {nth} counted {nth * 10} cases of it in one year.",
        kind,
        "2024-05-17",
        ("Example Survey Group",),
        f"{kind} provider",
    )


class Clock:
    """Tells the time as a run would see it, and notes every wait instead of waiting."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.seconds = 0.0

    async def now(self, run: Run, key: str) -> str:
        async def read() -> str:
            self.seconds += 1
            minutes, seconds = divmod(int(self.seconds), 60)
            return f"2024-11-25T14:{30 + minutes:02d}:{seconds:02d}+00:00"

        return await run.step("clock", read, key=key)

    async def wait(self, run: Run, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds


Script = Mapping[str, Any]
KNOBS = ("coverage", "tone", "grammar")
"""What is moved to reach a quality; coverage only where the target may be missed."""


class Crew:
    """Answers by task. A value of the script stands for every ask, a list is given one by one (its last entry
    for ever), an exception is raised, a function is called. What is not scripted gets a good answer."""

    def __init__(self, script: Script | None = None, *, complexity: float = 0.6) -> None:
        self.script = dict(script or {})
        self.complexity = complexity
        self.calls: list[podium.Call] = []
        self._given: Counter[str] = Counter()

    async def __call__(self, call: podium.Call) -> Any:
        self.calls.append(call)
        plain: Any = plain_answer(call, self.complexity)
        answer: Any = self._scripted(call)
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            return plain
        if isinstance(answer, dict) and isinstance(plain, dict):
            return cast("dict[str, Any]", plain) | cast("dict[str, Any]", answer)
        return cast("object", answer)

    def _scripted(self, call: podium.Call) -> Any:
        answer: Any = self.script.get(call.task)
        if isinstance(answer, list):
            answers = cast("list[Any]", answer)
            answer = answers[min(self._given[call.task], len(answers) - 1)]
            self._given[call.task] += 1
        return cast("Callable[[podium.Call], Any]", answer)(call) if callable(answer) else answer

    def tasks(self, task: str) -> list[podium.Call]:
        return [call for call in self.calls if call.task == task]

    @property
    def counted(self) -> Counter[str]:
        return Counter(call.task for call in self.calls)


def plain_answer(call: podium.Call, complexity: float) -> Any:
    sources = _SOURCE.findall(call.prompt)
    ids = [one for one, _ in sources]
    answers: dict[str, Callable[[], Any]] = {
        "assess": lambda: {"complexity": complexity, "aspects": ["causes", "cases"], "queries": ["cases"]},
        "find_sources": lambda: {"urls": []},
        "synthesize": lambda: {
            "points": [{"text": "cases were counted", "source_ids": ids}],
            "outline": [{"heading": "Cases", "points": ["counted"], "source_ids": ids}],
        },
        "summarize": lambda: {"summaries": [{"source_id": one, "summary": "cases"} for one in ids]},
        "extract_insights": lambda: {"insights": [{"text": "cases were counted", "source_ids": ids[:1]}]},
        "write_introduction": lambda: " ".join(FILLERS),
        "write_article": lambda: article_of(call.prompt, sources),
        "write_conclusion": lambda: " ".join(FILLERS[:3]),
        "fact_check": lambda: {"checks": checks_of(call.prompt, sources)},
        "edit": lambda: {
            "article": edited_of(call.prompt),
            "grammar": 0.9,
        },
        "judge": lambda: {"coverage": 0.9, "tone": 0.9},
        "draft": lambda: {"points": ["how many cases were counted"], "document": "# Direct\n\nMany cases."},
        "edit_result": lambda: {"parts": [{"part": "the request", "met": True}]},
        "compare": lambda: {"why": "no difference", "a": SCORES, "b": SCORES, "better": "equal"},
    }
    return answers[call.task]()


def edited_of(prompt: str) -> str:
    """The article as the editor was given it."""
    return unfenced(prompt.partition("# Article\n\n")[2].rpartition("\n\n# Answer")[0])


def article_of(prompt: str, sources: list[tuple[str, str]]) -> str:
    """An article of the wanted length that says of every source what stands in it."""
    asked = re.search(r"^About (\d+) words", prompt, re.MULTILINE)
    words = int(asked[1]) if asked else 800
    logged = [f"{text.split(' The whole')[0].strip()} [@{one}]" for one, text in sources]
    parts = ["# What was counted", " ".join(FILLERS)]
    for nth, name in enumerate(("First look", "Second look", "Third look", "Fourth look")):
        parts += [f"## {name}", " ".join([*logged[nth::4], FILLERS[nth]])]
    ending = ["## Conclusion", " ".join(FILLERS[:3])]
    filler = 0
    while sum(len(part.split()) for part in [*parts, *ending]) < words:
        parts.append(" ".join(FILLERS[(filler + nth) % 5] for nth in range(4)))
        filler += 1
    return "\n\n".join([*parts, *ending])


def checks_of(prompt: str, sources: list[tuple[str, str]], verified: float = 1.0) -> list[dict[str, Any]]:
    """A verdict for every claim; only the first share of them is verified."""
    texts = {one: text.split(" The whole")[0].strip() for one, text in sources}
    claims = _CLAIM.findall(prompt)
    most = round(len(claims) * verified)
    return [
        {
            "claim_id": claim,
            "verdict": "verified",
            "source_id": cited.split(", ")[0],
            "quote": texts.get(cited.split(", ")[0], ""),
            "reason": "it says so",
        }
        if nth < most
        else {"claim_id": claim, "verdict": "unverified", "reason": "nobody says so"}
        for nth, (claim, cited, _) in enumerate(claims)
    ]


def half_checked(share: float) -> Callable[[podium.Call], dict[str, Any]]:
    """A fact checker that finds only a share of the claims."""
    return lambda call: {"checks": checks_of(call.prompt, _SOURCE.findall(call.prompt), share)}


class ResearchRun:
    """What a run of research came to, and everything that it told."""

    def __init__(self, result: RunResult, rows: list[tuple[str, str, dict[str, Any]]], crew: Crew) -> None:
        self.result = result
        self.rows = rows
        self.crew = crew
        self.clock = Clock()

    @property
    def output(self) -> dict[str, Any]:
        return self.result.output

    def all(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        return [
            data
            for _, name, data in self.rows
            if name == f"research.{kind}" and all(data.get(key) == value for key, value in wanted.items())
        ]

    @property
    def phases(self) -> list[str]:
        return [data["to"] for data in self.all("phase")]

    @property
    def workers(self) -> list[list[str]]:
        """Of each plan that was executed."""
        return [
            [worker for step in data["plan"]["steps"] for worker in step["workers"]]
            for data in self.all("plan_optimized")
        ]

    @property
    def qualities(self) -> list[float]:
        return [round(data["quality"], 2) for data in self.all("evaluated")]


def workflow_of(shelves: Shelves | None = None, clock: Clock | None = None) -> Workflow:
    return research_with(shelves or Shelves(), clock or Clock())


async def study(
    store: Store,
    crew: Crew,
    topic: str = "AI trends",
    *,
    shelves: Shelves | None = None,
    approve: tuple[str, ...] = (),
    budget: podium.Budget | None = None,
    **options: Any,
) -> ResearchRun:
    """Run research with these, to its end; without a floor and an editor unless they are asked for."""
    clock = Clock()
    options = {**BARE, **options}
    result = await podium.run(
        workflow_of(shelves, clock),
        topic,
        model=crew,
        store=store,
        approve=approve,
        budget=budget,
        options=options,
    )
    logged = await research_run_of(store, result, crew)
    logged.clock = clock
    return logged


async def research_run_of(store: Store, result: RunResult, crew: Crew) -> ResearchRun:
    rows = [
        (row.path, row.type, cast("dict[str, Any]", decode(row.data)))
        for row in await store.read(result.run_id)
    ]
    return ResearchRun(result, rows, crew)


async def tuned(
    store: Store,
    targets: list[float],
    script: Script | None = None,
    *,
    complexity: float = 0.6,
    counts: Mapping[str, int] | None = None,
    failing: Mapping[str, int] | None = None,
    topic: str = "AI trends",
    knobs: tuple[str, ...] = (),
    **options: Any,
) -> ResearchRun:
    """A run whose iterations come out with these qualities. Everything that a program measures stays as it
    is; what the model says (`knobs`) is moved until the sum is right, one iteration after the other."""
    levels = [0.9] * len(targets)
    threshold = options.get("min_quality", 0.8)
    moved = [knobs or (KNOBS[1:] if target >= threshold - 0.06 else KNOBS) for target in targets]
    for nth, target in enumerate(targets):
        logged = await study(
            store,
            _with_levels(script, levels, complexity, moved),
            topic,
            shelves=Shelves(counts, failing),
            **options,
        )
        evaluated = logged.all("evaluated")[nth]
        weights = {"article": 0.30, "source": 0.25, "factual": 0.25, "writing": 0.20}
        whole = sum(weights[one] for one in evaluated["components"])
        owner = {"coverage": "article", "tone": "writing", "grammar": "writing"}
        slope = sum(
            weights[owner[knob]] / whole / len(evaluated["parts"][owner[knob]])
            for knob in moved[nth]
            if owner[knob] in evaluated["parts"]
        )
        levels[nth] += (target - evaluated["quality"]) / slope
        assert 0 <= levels[nth] <= 1, (levels, evaluated)
    crew = _with_levels(script, levels, complexity, moved)
    return await study(store, crew, topic, shelves=Shelves(counts, failing), **options)


def _with_levels(
    script: Script | None,
    levels: list[float],
    complexity: float,
    moved: list[tuple[str, ...]],
) -> Crew:
    def level(knob: str, nth: int) -> float:
        return levels[nth] if knob in moved[nth] else 0.9

    judged = [{"coverage": level("coverage", nth), "tone": level("tone", nth)} for nth in range(len(levels))]
    edited = [{"grammar": level("grammar", nth)} for nth in range(len(levels))]
    return Crew({"judge": judged, "edit": edited, **(script or {})}, complexity=complexity)
