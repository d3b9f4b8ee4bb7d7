"""What the rehearsal model answers for a council: distinct ideas about the topic, differing scores, and a
critique that refers to them. Everything is made of the topic's own words, and says that it is a rehearsal."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from podium.models.model import Call
from podium.models.rehearsal import rehearses
from podium.models.request_words import keywords, number, pick
from podium.models.sample_values import LABEL
from podium.workflows.council.discussion import CRITERIA

_TOPIC = re.compile(r"^Topic: (.+?)\n</request>", re.DOTALL | re.MULTILINE)
_IDEA = re.compile(
    r"^\d+\. \[(I\d+)\] (.+?)(?: \((?:version \d+)?(?:; )?(?:refines ([^)]+))?\))?(?: - .*)?\n"
    r"   Score: (.+)$",
    re.MULTILINE,
)
_POINT = re.compile(r"^- ([RQ]\d+) \(", re.MULTILINE)
_MISSING = re.compile(r"^# Your task: (\d+) more idea", re.MULTILINE)
_NEEDED = re.compile(r"[Bb]ring at least (\d+)")
_FOCUSED = re.compile(r"^3\. Give each of these members one focus: (.+?)\. A focus", re.MULTILINE)
_LEADING = re.compile(r"the highest score wins, and that is (I\d+),")
_QUESTION = re.compile(
    r"^(?:how (?:can|could|do|should|might|would) (?:we|i|you|our|my|a|an|the)\s+|how to |"
    r"what (?:is|are|would be|should) |"
    r"which |ideas? (?:for|to) |ways? to |find |suggest |think of |we (?:want|need) to |should we |"
    r"wie (?:kann|können|könnte|könnten|soll|sollen|sollte|sollten|schaff\w*) "
    r"(?:wir|ich|man|es|eine?|einem|einen|der|die|das|unsere?|meine?)\s+|"
    r"was (?:ist|sind|wäre|wären|kann|können) |welche[rsmn]? |ideen? (?:für|um|zu) |bitte |"
    r"(?:finde|findet|finden sie|sucht?|suche|nenne|nennt|überlegt?|überlege) )+",
    re.IGNORECASE,
)

ANGLES = (
    (
        "A two-week pilot",
        "try it small",
        "Start with {word} alone, two weeks, one team: {topic}. Decide by what was seen.",
    ),
    (
        "Ask those concerned",
        "people first",
        "Talk to ten people who live with {word} every day before anything is built for: {topic}.",
    ),
    (
        "Do less, better",
        "focus",
        "Drop everything about {word} that nobody misses and put the time into one part of: {topic}.",
    ),
    (
        "Share what is there",
        "together",
        "Join forces with others who face {word} too, and split cost and work of: {topic}.",
    ),
    (
        "Make it a habit",
        "routine",
        "A fixed hour each week for {word}, with a list that everybody sees, carries: {topic}.",
    ),
    (
        "Turn it round",
        "unusual",
        "Do the opposite of what is done with {word} today, for a month, and learn from it for: {topic}.",
    ),
    (
        "Let a machine do the dull part",
        "tools",
        "Automate what repeats itself around {word}, and keep people for the rest of: {topic}.",
    ),
    (
        "A prize for the best try",
        "people first",
        "Offer a small prize for whoever gets furthest with {word} in a month: {topic}.",
    ),
    ("Borrow from next door", "together", "Copy how another field solves {word}, and adapt it to: {topic}."),
    (
        "Make progress visible",
        "routine",
        "One chart about {word} in a place that everybody passes keeps up: {topic}.",
    ),
    (
        "A way out first",
        "try it small",
        "Settle how to stop before starting with {word}, so that it costs little to try: {topic}.",
    ),
    (
        "Pay for results",
        "unusual",
        "Pay whoever helps with {word} by what changes, not by hours, in: {topic}.",
    ),
)
_RISKS = (
    ("it depends on people who were not asked", "high", "ask them before the pilot"),
    ("its cost is a guess", "medium", "price the first month"),
    ("it may fade after the first weeks", "medium", "name who keeps it up"),
    ("something like it was tried before", "low", "find out why it ended"),
)
_FOCUS = {
    "Ideation Specialist": "ideas that differ in kind, not in degree",
    "Researcher": "what is known, and what was tried", "Critic": "the assumption that everything hangs on",
    "Implementer": "the first week, with names and hours",
}  # fmt: skip


@rehearses("council", "kickoff")
def rehearse_kickoff(call: Call) -> str:
    found = _FOCUSED.search(call.prompt)
    names = [name.strip() for name in found[1].split(",")] if found else []
    lines = [f"- {name}: {_FOCUS.get(name, 'your own view')}." for name in names]
    return f"{LABEL} We look at “{_topic(call)}”. Each of you has a part:\n\n" + "\n".join(lines)


@rehearses("council", "research")
def rehearse_research(call: Call) -> dict[str, Any]:
    topic, words = _topic(call), _words(call)
    listing = re.search(r"^<<<list_files\n(.*?)\n>>>", call.prompt, re.DOTALL | re.MULTILINE)
    if "`list_files`" in call.prompt and "# What your tools found" not in call.prompt:
        wanted: list[dict[str, Any]] = [{"tool": "list_files", "args": {}, "why": "See what there is."}]
        return {"text": "", "evidence": [], "tool_calls": wanted}
    cards = [
        {
            "claim": f"{LABEL} What is known about {word} would stand here.",
            "source": "made up for this rehearsal",
        }
        for word in words[:2]
    ]
    names = re.findall(r"^\s*(?:\d+\s+)?(\S+\.\w+)", listing[1], re.MULTILINE) if listing else []
    cards += [{"claim": f"{LABEL} {name} was there to be read.", "source": name} for name in names[:3]]
    text = f"{LABEL} Context for “{topic}”: {', '.join(words[:4])}. What was tried before would stand here."
    return {"text": text, "evidence": cards, "tool_calls": []}


@rehearses("council", "ideate")
def rehearse_ideas(call: Call) -> dict[str, Any]:
    """Other ideas each time; from the second round on, the first one refines the strongest so far."""
    topic, words, known = _topic(call), _words(call), _ideas(call)
    missing = _MISSING.search(call.prompt)
    needed = _NEEDED.search(call.prompt)
    wanted = int(missing[1]) if missing else max(4, int(needed[1]) if needed else 0)
    ideas = [_new_idea(topic, words, len(known) + nth) for nth in range(min(wanted, 20))]
    if "# Your task: better ideas" in call.prompt:
        name, title = known[number(topic) % len(known)][:2]
        bare = title.removesuffix(", with a date")
        ideas[0] = {
            "title": f"{bare}, with a date", "category": "refined", "refines": [name],
            "description": f"{LABEL} {name} again, after the criticism: a date, a person and a way to stop.",
        }  # fmt: skip
    return {"ideas": ideas}


@rehearses("council", "critique")
def rehearse_critique(call: Call) -> dict[str, Any]:
    ideas, reply = _ideas(call), "were defended" in call.prompt
    lines = [
        f"- {name} ({title}): {pick(_RISKS, title, call.path)[0]}{'; that still stands' if reply else ''}."
        for name, title, _ in ideas
    ]
    start = "After the defence:" if reply else "What could go wrong:"
    risks = [
        {"risk": f"{title}: {what}", "idea": name, "severity": severity, "mitigation": helps}
        for name, title, _ in ideas
        for what, severity, helps in [pick(_RISKS, title, call.path)]
    ]
    questions = [f"Who decides about {word}?" for word in _words(call)[:2]] if not reply else []
    text = f"{LABEL} {start}\n\n" + "\n".join(lines)
    if reply:  # every second point counts as answered
        settled = [
            {"point": name, "how": "the idea starts smaller now"} for name in _POINT.findall(call.prompt)[::2]
        ]
        return {"text": text, "risks": [], "open_questions": [], "settled": settled}
    return {"text": text, "risks": risks, "open_questions": questions, "settled": []}


@rehearses("council", "implement")
def rehearse_implementation(call: Call) -> dict[str, Any]:
    ideas = _ideas(call)
    steps = [
        {
            "step": f"Find one person who wants “{title}” and settle a first date",
            "idea": name,
            "effort": effort,
        }
        for name, title, _ in ideas
        for effort in [pick(("half a day", "two days", "one week"), title)]
    ]
    lines = [f"- {name}: start with {title.lower()} where it hurts least." for name, title, _ in ideas]
    return {"text": f"{LABEL} In practice:\n\n" + "\n".join(lines), "next_steps": steps}


@rehearses("council", "rebut")
def rehearse_rebuttal(call: Call) -> dict[str, Any]:
    """Every idea is defended; the first one gets a new version."""
    ideas = _ideas(call)
    lines = [f"- {name} ({title}): granted in part; it would start smaller." for name, title, _ in ideas]
    revisions = [
        {
            "idea": name, "description": f"{LABEL} {title}: starts with one team and one month.",
            "given_up": "the start everywhere at once", "why": "its cost was a guess",
        }
        for name, title, _ in ideas[:1]
    ]  # fmt: skip
    return {"text": f"{LABEL} To the criticism, idea by idea:\n\n" + "\n".join(lines), "revisions": revisions}


@rehearses("council", "synthesize")
def rehearse_synthesis(call: Call) -> str:
    ideas = _ideas(call)
    if not ideas:
        return f"{LABEL} There are no ideas yet."
    strong = [f"{name} ({title})" for name, title, _ in sorted(ideas, key=lambda idea: number(idea[1]))[:2]]
    last = "This is the final round" in call.prompt
    ahead = (
        "These are the strongest." if last else "Next: answer the criticism, and look for what is missing."
    )
    return f"{LABEL} {len(ideas)} ideas are on the table. What stays: {' and '.join(strong)}. {ahead}"


@rehearses("council", "validate")
def rehearse_evaluation(call: Call) -> dict[str, Any]:
    return {"evaluations": [_evaluation(name, title, refines) for name, title, refines in _ideas(call)]}


@rehearses("council", "select")
def rehearse_selection(call: Call) -> dict[str, Any]:
    scored = [
        (float(score.split("/")[0]), name, title)
        for name, title, _, score in _IDEA.findall(call.prompt)
        if "/" in score
    ]
    ideas = _ideas(call)
    leading = _LEADING.search(call.prompt)
    best = max(scored, key=lambda one: one[0])[1] if scored else ideas[0][0]
    name = leading[1] if leading else best
    title = next((title for known, title, _ in ideas if known == name), ideas[0][1])
    return {
        "choice": name,
        "reasoning": f"{LABEL} {name} ({title}) holds up best against what was said about it.",
        "recommendation": _recommendation(name, title, _topic(call)),
    }


def _recommendation(name: str, title: str, topic: str) -> dict[str, Any]:
    document = (
        f"{LABEL} Do this about {topic}: {title[:1].lower()}{title[1:]}.\n\n"
        "### Why\n\nIt is small enough to start, and it can be stopped.\n\n"
        "### What it takes\n\n- One person, half a day a week\n- About 300 a month: 10 hours at 30\n\n"
        "### Steps\n\n1. Name who is responsible\n2. Try it for a month\n3. Decide by what was seen"
        "\n\n### Still open\n\n- Whether those concerned want it: ask them before the start"
    )
    steps = [
        {"step": "Name who is responsible", "effort": "an hour"},
        {"step": "Try it for a month", "effort": "half a day a week"},
    ]
    why = f"{LABEL} It can start small and be stopped."
    return {"idea": name, "document": document, "why": why, "next_steps": steps}


@rehearses("council", "visualize")
def rehearse_page(call: Call) -> str:
    rows = "".join(
        f"<tr><td>{name}</td><td>{escape(title)}</td><td>{escape(score)}</td></tr>"
        for name, title, _, score in _IDEA.findall(call.prompt)
    )
    return (
        f"<h1>{escape(_topic(call))}</h1><p>{LABEL} A UI creator would present the discussion here.</p>"
        f"<h2>Ideas</h2><table><tr><th>Id</th><th>Idea</th><th>Score</th></tr>{rows}</table>"
    )


# ── how ideas are made ───────────────────────────────────────────────────────────────────────────


def _new_idea(topic: str, words: list[str], nth: int) -> dict[str, Any]:
    angle, category, text = ANGLES[(number(topic) + nth) % len(ANGLES)]
    word = words[nth % len(words)]
    lap = f" ({nth // len(ANGLES) + 1})" if nth >= len(ANGLES) else ""
    return {
        "title": f"{angle}: {word}{lap}", "category": category,
        "description": f"{LABEL} {text.format(word=word, topic=topic)}",
    }  # fmt: skip


def _evaluation(name: str, title: str, refines: str) -> dict[str, Any]:
    """Scores from 4.5 to 10 that depend on the idea; a refinement gains a little."""
    level = 4.5 + number(title) % 8 / 2 + bool(refines) * 0.5
    scores = {one: min(10.0, level + number(title, one) % 5 / 2) for one in CRITERIA}
    best = max(scores, key=lambda one: scores[one])
    worst = min(scores, key=lambda one: scores[one])
    return {
        "idea": name, **scores, "pros": [f"Its {best} is its strength."],
        "cons": [f"Its {worst} is not enough yet."],
        "feedback": f"{LABEL} {title}: work on its {worst}.",
    }  # fmt: skip


def _topic(call: Call) -> str:
    found = _TOPIC.search(call.prompt)
    topic = " ".join(found[1].split()) if found else call.task
    bare = _QUESTION.sub("", topic).rstrip(" ?.!")
    return bare[:200] or topic[:200]


def _words(call: Call) -> list[str]:
    """What the topic is about: its telling words, those that stand side by side as one."""
    topic = _topic(call)
    telling = {word.lower() for word in keywords(f"Topic:\n{topic}\n\n#", 10)}
    phrases: list[str] = []
    beside = False
    for word in re.findall(r"[\w’'-]+", topic):
        if word.lower() not in telling:
            beside = False
            continue
        if beside and len(phrases[-1].split()) < 3:
            phrases[-1] += f" {word}"
        else:
            phrases.append(word)
        beside = True
    return list(dict.fromkeys(phrases)) or ["this"]


def _ideas(call: Call) -> list[tuple[str, str, str]]:
    """Id, title and what it refines, of every idea so far."""
    return [(name, title, refines) for name, title, refines, _ in _IDEA.findall(call.prompt)]
