"""The orchestrations that come with Podium, one folder each; imported when they are used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import msgspec

from podium.engine.workflow import Workflow, load_workflow
from podium.report.presentation import GENERIC, Presentation

DELIVERY = "podium.workflows.delivery.events"
"""Events that several workflows share."""
SHIPPED = ("build", "council", "research", "studio", "tree")
"""Names of the built-in workflows and of their folders. A new one needs this line and its folder."""


class Builtin(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a built-in workflow that other rooms need; `BUILTIN` in the `__init__` of its folder."""

    prompt_budget: int
    """Most characters of fixed text in one prompt, its parts included and all branches counted."""
    shared_options: frozenset[str] = frozenset()
    """Options that users of a shared server may set: only words and figures. Any other may reach into the
    machine and is refused."""


def builtin(name: str) -> Builtin:
    """Return the facts about a built-in workflow, without loading the workflow itself."""
    return import_module(f"podium.workflows.{name}").BUILTIN


def find_workflow(ref: str) -> Workflow:
    """A workflow by its name, or one's own in a file: `FILE.py:name`."""
    if ref in SHIPPED:
        return import_module(f"podium.workflows.{ref}.flow").WORKFLOW
    return load_workflow(ref, SHIPPED)


def presentation_of(ref: str) -> Presentation:
    """How a run of this workflow is shown: a new one for each run that is looked at.

    Ask for it before the log is read: with it come the classes of the workflow's events. It does not load the
    workflow itself, so `podium show` stays quick.
    """
    module = f"podium.workflows.{ref}.report"
    if ref not in SHIPPED or find_spec(module) is None:
        return GENERIC
    import_module(DELIVERY)
    return import_module(module).PRESENTATION()
