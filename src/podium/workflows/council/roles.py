"""The seven roles: who they are, and what kind of model they need."""

from __future__ import annotations

from pathlib import Path

from podium.agents.agent import Agent
from podium.agents.prompts import Prompts
from podium.workflows.council.policy import (
    CRITIC,
    IDEATION,
    IMPLEMENTER,
    LEADER,
    MODERATOR,
    NAMES,
    RESEARCHER,
    UI_CREATOR,
)

PROMPTS = Prompts.load(Path(__file__).parent / "prompts")

_TEAM = (
    "You are one of a team that explores a topic in rounds. You read everything that was said before you. "
    "You refer to ideas by their ids, build on what others said, and never repeat it."
)

INSTRUCTIONS = {
    LEADER: "You lead the team: you give each member a focus of its own, sum up what matters after each "
    "round, say where the team should look next, and at the end choose the best idea and say why.",
    IDEATION: "You bring ideas: concrete, different from each other, and answers to the topic. You take up "
    "criticism and make ideas better by it.",
    MODERATOR: "You judge every idea by the same yardstick, without favour: feasibility, innovation, impact, "
    "clarity and completeness, each from 0 (not at all) to 10 (nothing better is known). You use the whole "
    "scale, so that good ideas can be told from middling ones.",
    RESEARCHER: "You bring facts and context: what is known, what was tried, what the numbers are. You say "
    "where each fact comes from, and tell what you know from what you guess.",
    CRITIC: "You look for what could go wrong: assumptions that nobody has tested, costs that nobody has "
    "counted, people who would not want it. You are precise and fair, and say what would settle a doubt.",
    IMPLEMENTER: "You say how it would really be done: first steps, people, time, money, tools, and what has "
    "to be decided before.",
    UI_CREATOR: "You present the result of a discussion as one clear HTML page for those who were not there.",
}
_PROFILES = {LEADER: "powerful", MODERATOR: "powerful"}
_TEMPERATURES = {IDEATION: 0.9, MODERATOR: 0.2, CRITIC: 0.5, RESEARCHER: 0.3, UI_CREATOR: 0.4}
_LONGEST = {UI_CREATOR: 8192, MODERATOR: 8192}

AGENTS = {
    role: Agent(
        NAMES[role],
        role=role,
        instructions=f"{_TEAM}\n\n{text}",
        profile=_PROFILES.get(role, "balanced"),
        temperature=_TEMPERATURES.get(role, 0.6),
        max_tokens=_LONGEST.get(role, 4096),
        prompts=PROMPTS,
    )
    for role, text in INSTRUCTIONS.items()
}
