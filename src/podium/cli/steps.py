"""Step details and the step tree."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec
from rich.console import Console

from podium.cli.card import say_line
from podium.cli.layout import badge, drawn, one_row, pad, sign
from podium.cli.terminal import out, print_json
from podium.engine.codec import decode
from podium.engine.events import Event
from podium.engine.log import Store
from podium.engine.state import RunState, StepState
from podium.errors import UsageError
from podium.models.events import ModelAsked, ModelAttempted
from podium.report.conversation import Conversations
from podium.report.event_lines import line_of
from podium.report.messages import ShownCall, ShownConversation, notes_of
from podium.report.presentation import Line
from podium.report.turns import outcome_of, outcome_words, step_call
from podium.report.words import count, duration, model_name, money, one_line, pretty, safe, size
from podium.settings import nearest


def find_step(state: RunState, path: str) -> StepState:
    """Return the step with this path. Raises `UsageError` if there is none."""
    if path in state.steps:
        return state.steps[path]
    meant = nearest(path, list(state.steps))
    known = f"Its steps: {', '.join(list(state.steps)[:12]) or 'none'}."
    raise UsageError(f"The run has no step {path}.", hint=f"Did you mean {meant}?" if meant else known)


async def print_step(store: Store, step: StepState, events: list[Event], *, as_json: bool) -> None:
    """Print prompt, events and result of one step."""
    result: Any = None
    if step.blob:
        result = decode(await store.get_blob(step.blob))
    elif step.result is not None:
        result = decode(step.result)
    own = [event for event in events if event.path == step.path]
    question = next((event.data for event in reversed(own) if isinstance(event.data, ModelAsked)), None)
    if question is not None and question.blob:
        prompt = (await store.get_blob(question.blob)).decode("utf-8", "replace")
        question = msgspec.structs.replace(question, prompt=prompt, blob="")
    talks = Conversations.of(events)
    talk = await talks.up_to(step.path, store.get_blob)
    call = await talks.call(step.path, store.get_blob)
    if as_json:
        shown = _as_data(step, question, result, _limits(own))
        print_json(shown | {"messages": talk.messages if talk else None, "call": call})
        return
    console = out()
    about = [str(step.about.get("agent", "")), model_name(str(step.about.get("model", "")))]
    details = safe("  ".join(part for part in about if part))
    say_line(console, (step.path, "bold"), "  ", badge(step.status, console), "  ", (details, "dim"))
    state = RunState()
    for event in events:
        state.apply(event)
        if event.path == step.path:
            line = line_of(event, state)
            if event.type not in ("step.completed", "model.asked"):
                say_line(console, ("  ".join((f"  {line.mark} {line.what}", *line.notes)), "dim"))
    if (limits := _limits(own)) is not None:
        seconds, tokens = limits["timeout_s"], limits["max_tokens"]
        say_line(console, (f"  limits of the reply: {duration(seconds)}, {tokens:,} tokens", "dim"))
    if talk is not None:
        _print_messages(console, talk)
        return
    if call is not None:
        _print_call(console, call)
        return
    for title, text in (
        (("system", question.system), ("prompt", question.prompt)) if question is not None else ()
    ):
        if text:
            say_line(console, (f"\n{title}", "bold"))
            say_line(console, safe(text))
    if step.status == "completed":
        say_line(console, ("\nresult", "bold"))
        say_line(console, safe(pretty(result)))


def _print_messages(console: Console, talk: ShownConversation) -> None:
    """Print a conversation up to a turn: what the model read, and what it replied."""
    for message in talk.messages:
        say_line(console, (f"\n{safe(message.who)}", "bold"))
        if message.text:
            say_line(console, safe(message.text))
        for part in message.files:
            say_line(console, (f"attached {one_line(part.name)} ({size(part.size)})", "dim"))
        for call in message.calls:
            say_line(console, f"  → {call.words}  ", ("  ".join(map(one_line, notes_of(call))), "dim"))
            for line in safe(call.result).splitlines():
                say_line(console, (f"    {line}", "dim"))


def _print_call(console: Console, call: ShownCall) -> None:
    """Print arguments, outcome and cost of a tool call."""
    say_line(console, (f"\n{one_line(call.tool)}", "bold"), "  ", ("  ".join(notes_of(call)), "dim"))
    if call.call_id:
        say_line(console, (f"call id {one_line(call.call_id)}", "dim"))
    for title, text in (("arguments", pretty(call.arguments)), ("result", call.result)):
        if text:
            say_line(console, (f"\n{title}", "bold"))
            say_line(console, safe(text))


def _limits(events: list[Event]) -> dict[str, Any] | None:
    """Return the limits of the step's last call. None if it made none, or if its version recorded none."""
    for event in reversed(events):
        if isinstance(event.data, ModelAttempted) and event.data.max_tokens:
            return {"timeout_s": event.data.timeout_s, "max_tokens": event.data.max_tokens}
    return None


def _as_data(
    step: StepState, question: ModelAsked | None, result: Any, limits: dict[str, Any] | None
) -> dict[str, Any]:
    return {
        "path": step.path,
        "status": step.status,
        "kind": step.kind,
        "about": step.about,
        "system": question.system if question else None,
        "prompt": question.prompt if question else None,
        "reply_limits": limits,
        "result": result,
        "error": step.error or None,
        "duration_s": step.duration_s,
        "cost_usd": round(step.charge.usd, 9),
        "cached_calls": step.saved.calls,
        "saved_usd": round(step.saved.usd, 9),
    }


MANY = 60
"""Maximum number of lines shown without `--all`."""


class Node(NamedTuple):
    """One line of the tree: a branch, a step, or (`more` > 0) a group of completed steps."""

    depth: int
    name: str
    step: StepState | None
    more: int = 0


def tree_of(steps: dict[str, StepState]) -> list[Node]:
    """Return branches and steps in the order in which they began, children below their branch. A branch with
    a single child shares its line."""
    children: dict[str, dict[str, None]] = {"": {}}
    for path in steps:
        parts = path.split("/")
        for depth in range(len(parts)):
            parent, child = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
            children.setdefault(parent, {})[child] = None
            children.setdefault(child, {})
    nodes: list[Node] = []
    waiting = [(0, path) for path in reversed(children[""])]
    while waiting:
        depth, path = waiting.pop()
        begin = path.rfind("/") + 1
        while path not in steps and len(children[path]) == 1:
            path = next(iter(children[path]))
        nodes.append(Node(depth, path[begin:], steps.get(path)))
        waiting += [(depth + 1, child) for child in reversed(children[path])]
    return nodes


def folded(nodes: list[Node]) -> list[Node]:
    """Fold consecutive completed steps of one name into one line each, so that failures stand out."""
    shown: list[Node] = []
    for node in nodes:
        last = shown[-1] if shown else None
        if last is not None and _alike(last, node):
            shown[-1] = last._replace(more=last.more + 1)
        else:
            shown.append(node)
    return shown


def _alike(first: Node, second: Node) -> bool:
    """Return whether both are completed steps that differ only in their number or key."""
    steps = (first.step, second.step)
    if not all(step and step.status == "completed" and not step.edited and not step.cut for step in steps):
        return False
    tools = [step.about.get("tool") for step in steps if step]
    return first.depth == second.depth and _bare(first.name) == _bare(second.name) and tools[0] == tools[1]


def _bare(name: str) -> str:
    return re.sub(r"#\d+|\[[^\]]*\]", "", name)


def print_steps(console: Console, state: RunState, *, everything: bool, command: str) -> None:
    """Print the tree with status, agent, time, cost and retries."""
    nodes = tree_of(state.steps)
    if not nodes:
        return
    shown = nodes if everything or len(nodes) <= MANY else folded(nodes)[:MANY]
    hidden = len(nodes) - sum(1 + node.more for node in shown)
    say_line(console)
    width = max(len(node.name) + 2 * node.depth for node in shown)
    width = min(width, max(console.width // 2, 16)) if console.is_terminal else width
    for node in shown:
        _print_node(console, node, width)
    if len(shown) < len(nodes):
        rest = f"… {count(hidden, 'more line')}" if hidden else "All steps"
        say_line(console, (f"{rest}: {command}", "dim"))


def print_drawing(console: Console, drawing: list[Line], command: str) -> None:
    """Print a workflow's drawing of its run, and the command that lists the steps."""
    say_line(console)
    for text in drawn(drawing, console):
        say_line(console, text)
    say_line(console, (f"  All steps: {command}", "dim"))


def _print_node(console: Console, node: Node, width: int) -> None:
    indent = "  " * node.depth
    name = one_row(node.name, max(width - len(indent), 4))
    if node.step is None:
        say_line(console, f"  {indent}", (f"{name}/", "dim"))
        return
    step = node.step
    mark = sign(step.status if _outcome(step) in ("", "made up") else "failed", console)
    details = _details(step) if not node.more else f"and {node.more} more"
    say_line(console, f"{indent}", mark, " ", pad(name, width - len(indent)), "  ", (details, "dim"))
    if step.error:
        say_line(console, f"{indent}    ", (one_row(step.error, max(console.width - 8, 40)), "red"))


def _outcome(step: StepState) -> str:
    """Return the state of a finished tool call, unless it went well."""
    outcome = outcome_of(step, step.result) if step.result is not None else None
    words = outcome_words(step, outcome) if outcome is not None else None
    return "" if words is None or words.state == "done" else words.state


def _details(step: StepState) -> str:
    """Return agent, status, duration, cost and retries of a step, as far as they apply."""
    parts = [
        one_line(str(step.about.get("agent", ""))) or step_call(step),
        step.status if step.status != "completed" else "",
        duration(step.duration_s) if step.duration_s is not None else "",
        money(step.charge.usd) if step.charge.usd else "",
        "cached" if step.saved.calls else "",
        f"retried {step.retries}×" if step.retries else "",
        "inherited" if step.inherited else "",
        "edited" if step.edited else "",
        "cut off" if step.cut else "",
        _outcome(step),
    ]
    return "  ".join(part for part in parts if part)
