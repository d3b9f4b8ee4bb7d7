"""Session of a council: asks members, records contributions and decisions, and emits their events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar, overload

from podium.agents.agent import Agent
from podium.agents.ask import Run
from podium.agents.conversation import OnTool
from podium.engine.codec import encode, fingerprint, schema
from podium.errors import StepFailedError
from podium.report.words import cut_note
from podium.tools.toolbox import Toolbox
from podium.tools.toolsets import NativeTool
from podium.workflows.council import events
from podium.workflows.council.agents import AGENTS, PROMPTS, about_council
from podium.workflows.council.context import build_context, most_output, room_for, room_for_tools
from podium.workflows.council.deliverable import answer_of
from podium.workflows.council.discussion import (
    Delivery,
    Details,
    Discussion,
    Idea,
    Message,
    Spoken,
    plain,
    points_of,
)
from podium.workflows.council.policy import MAX_TOOL_CALLS, NAMES, Terms
from podium.workflows.delivery.contracts import Draft

T = TypeVar("T")

NOTHING_MORE = Details()


class Table:
    """State of one run's discussion. It always equals the fold over the events that it emits."""

    def __init__(self, run: Run, topic: str, terms: Terms, toolbox: Toolbox) -> None:
        self.run = run
        self.terms = terms
        self.toolbox = toolbox
        self.tools: dict[str, NativeTool] = {}
        """The researcher's tools by name."""
        self.windows: dict[str, int] = {}
        """Context window of each role's model, in tokens."""
        self.round = 0
        self.discussion = Discussion(
            topic=topic, team=list(terms.team), rounds=terms.rounds, min_score=terms.min_score
        )
        self.draft: Draft | None = None
        """A direct answer to the request, made before the discussion."""
        self.last_failure: StepFailedError | None = None
        """The latest failure of a member. It explains a discussion without ideas; a resume retries it."""
        self._condensed: set[str] = set()
        self._about = about_council(terms)

    # ── model calls ──

    @overload
    async def ask(
        self,
        role: str,
        task: str,
        *,
        returns: type[T],
        check: Callable[[T], str] | None = None,
        longest: int = 0,
        tools: Sequence[NativeTool] = (),
        on_tool: OnTool | None = None,
        **variables: Any,
    ) -> T: ...

    @overload
    async def ask(self, role: str, task: str, *, longest: int = 0, **variables: Any) -> str: ...

    async def ask(
        self,
        role: str,
        task: str,
        *,
        returns: Any = str,
        check: Callable[[Any], str] | None = None,
        longest: int = 0,
        tools: Sequence[NativeTool] = (),
        on_tool: OnTool | None = None,
        **variables: Any,
    ) -> Any:
        """Ask a member. The prompt holds the whole discussion so far."""
        agent = self._agent(role, longest, tools)
        words = self.run.prompt_for(PROMPTS[task]).render({**variables, "context": ""})
        context = self._context(agent, returns, len(words.encode()))
        if returns is str:
            return await self.run.ask(agent, task, context=context, **variables)
        return await self.run.ask(
            agent, task, returns=returns, check=check, on_tool=on_tool, context=context, **variables
        )

    def _agent(self, role: str, longest: int, tools: Sequence[NativeTool]) -> Agent:
        """Return the member's agent, with limits that fit into its model's context window."""
        agent, window = AGENTS[role], self.windows[role]
        return replace(
            agent,
            max_tokens=most_output(max(agent.max_tokens, longest), window),
            tools=tools,
            max_tool_calls=MAX_TOOL_CALLS,
            window=window,
        )

    def _context(self, agent: Agent, returns: Any, words: int) -> str:
        """Return the discussion, fitted into the space that system prompt, schema, task text and reply
        leave."""
        around = len(agent.system.encode()) + _schema_bytes(returns) + words
        if agent.tools:
            around += room_for_tools(self.windows[agent.role], [tool.definition for tool in agent.tools])
        room = room_for(self.windows[agent.role], agent.max_tokens, around)
        discussion = self.discussion
        built = build_context(discussion, room, self._about)
        if not self._condensed.issuperset(built.condensed):
            self._emit_condensed(agent.role, built.condensed)
        return built.text

    def _emit_condensed(self, role: str, condensed: Sequence[str]) -> None:
        """Warn once in the result, and emit an event each time that more has to be condensed."""
        window = self.windows[role]
        text = f"The discussion was condensed to fit into {window:,} tokens; the log holds all of it."
        if not self._condensed:
            self.discussion.warnings.append(text)
            self.run.warn(text)
        self._condensed.update(condensed)
        message = f"{text} Condensed for the {NAMES[role]}: {', '.join(condensed)}."
        self.run.emit(events.Warned(message=message, role=role, round=self.round))

    # ── events ───

    async def say(
        self, role: str, kind: str, content: str, details: Details = NOTHING_MORE, to: str = "team"
    ) -> None:
        """Add a contribution, which all members read from now on."""
        now = await self.run.now()
        message = Message(
            id=f"M{len(self.discussion.spoken) + 1}",
            sender=role,
            to=to,
            content=content,
            timestamp=now.isoformat(timespec="milliseconds"),
            kind=kind,
        )
        self.discussion.spoken.append(Spoken(message, self.round, details))
        fields = {name: getattr(message, name) for name in message.__struct_fields__}
        self.run.emit(events.Said(**fields, round=self.round, details=details))

    def phase(self, phase: str, number: int) -> None:
        self.round = number
        terms = self.terms
        self.run.emit(
            events.Phase(
                phase=phase,
                round=number,
                rounds=terms.rounds,
                team=list(terms.team),
                min_ideas=terms.min_ideas,
                min_score=terms.min_score,
                deep_dive=terms.deep_dive,
            )
        )

    def warn(self, text: str, role: str = "") -> None:
        """Add a warning to the result, once per text. The discussion continues."""
        if text in self.discussion.warnings:
            return
        self.discussion.warnings.append(text)
        self.run.emit(events.Warned(message=text, role=role, round=self.round))
        self.run.warn(text)

    def add(self, ideas: Sequence[Idea]) -> None:
        for idea in ideas:
            self.discussion.ideas.append(idea)
            self.run.emit(
                events.IdeaAdded(
                    id=idea.id,
                    title=idea.title,
                    description=idea.description,
                    category=idea.category,
                    refines=idea.refines,
                    round=idea.round,
                    origin=idea.origin,
                )
            )

    def revise(self, ideas: Sequence[Idea]) -> None:
        """Replace ideas by their new versions."""
        revised = {idea.id: idea for idea in ideas}
        self.discussion.ideas = [revised.get(idea.id, idea) for idea in self.discussion.ideas]
        for idea in ideas:
            new = idea.history[-1]
            self.run.emit(
                events.IdeaRevised(
                    id=idea.id,
                    version=idea.version,
                    title=idea.title,
                    description=idea.description,
                    given_up=new.given_up,
                    why=new.why,
                    round=self.round,
                )
            )

    def score(self, scored: Sequence[Idea]) -> None:
        """Apply the scores of the scored ideas."""
        by_id = {idea.id: idea for idea in scored}
        self.discussion.ideas = [by_id.get(idea.id, idea) for idea in self.discussion.ideas]
        for idea in scored:
            self.run.emit(
                events.IdeaScored(
                    id=idea.id,
                    criteria=idea.criteria or {},
                    score=idea.score or 0.0,
                    pros=idea.pros,
                    cons=idea.cons,
                    feedback=idea.feedback,
                    round=self.round,
                )
            )

    async def deliver(self, result: Delivery) -> None:
        """Store the text to deliver. It has its own branch, keyed by content: a resume with more budget may
        produce another text, and events of an existing branch are not emitted again."""
        self.discussion.delivered = result
        async with self.run.branch("result", key=fingerprint(plain(result))[:12]):
            self.run.emit(events.Delivered(result=result, round=self.round))

    # ── result ──────

    def output(self, status: str) -> dict[str, Any]:
        discussion, verdict, delivered = self.discussion, self.discussion.verdict, self.discussion.delivered
        points = points_of(discussion.spoken)
        return {
            "topic": discussion.topic,
            "status": status,
            "rounds": discussion.rounds_held,
            "ideas": plain(discussion.ideas),
            "final_idea": plain(discussion.final_idea),
            "scored": verdict is not None and verdict.scored,
            "below_threshold": verdict is not None and verdict.below_threshold,
            "leader_choice": None if verdict is None else verdict.leader_choice,
            "chosen": verdict is not None and verdict.chosen,
            "reasoning": discussion.reason,
            "recommendation": self._recommendation(),
            "deliverable": answer_of(discussion) or "",
            "open_points": plain([point for point in points if not point.settled]),
            "settled_points": plain([point for point in points if point.settled]),
            "messages": plain(discussion.messages),
            "comparison": None if delivered is None else delivered.comparison,
            "baseline": discussion.baseline,
            "warnings": self.warnings,
        }

    def _recommendation(self) -> dict[str, Any] | None:
        """The leader's recommendation, with the delivered document."""
        verdict, delivered = self.discussion.verdict, self.discussion.delivered
        if verdict is None or verdict.recommendation is None:
            return None
        shown: dict[str, Any] = plain(verdict.recommendation)
        return shown if delivered is None else {**shown, "document": delivered.document}

    @property
    def warnings(self) -> list[str]:
        """All warnings of the run, including those about truncated replies."""
        return [*dict.fromkeys(self.run.warnings), *filter(None, [cut_note(self.run.cut_steps)])]


@lru_cache(maxsize=64)
def _schema_bytes(returns: Any) -> int:
    return 0 if returns is str else len(encode(schema(returns)))
