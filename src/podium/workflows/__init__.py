"""Registry of the built-in workflows, one folder each; they are imported on first use."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import msgspec

from podium.engine.workflow import Workflow, load_workflow
from podium.report.presentation import GENERIC, Presentation

DELIVERY = "podium.workflows.delivery.events"
"""Module of the events that several workflows share."""
SHIPPED = ("build", "chat", "council", "research", "studio", "tree")
"""Names of the built-in workflows and of their folders. A new one needs this line and its folder."""


class Builtin(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a built-in workflow that other packages need; `BUILTIN` in the `__init__` of its folder."""

    prompt_budget: int
    """Most characters of fixed text in one prompt, its parts included and all branches counted."""
    shared_options: frozenset[str] = frozenset()
    """Options that users of a shared server may set: only words and figures. Any other may reach into the
    machine and is refused."""


def builtin(name: str) -> Builtin:
    """Return the facts about a built-in workflow, without loading the workflow itself."""
    return import_module(f"podium.workflows.{name}").BUILTIN


def find_workflow(ref: str) -> Workflow:
    """Return a built-in workflow by name, or a custom one by `FILE.py:name`."""
    if ref in SHIPPED:
        return import_module(f"podium.workflows.{ref}.flow").WORKFLOW
    return load_workflow(ref, SHIPPED)


def presentation_of(ref: str) -> Presentation:
    """Return a new presentation for a run of this workflow.

    Call it before reading the log, because it also registers the workflow's event classes. It does not import
    the workflow itself, so that `podium show` stays fast.
    """
    module = f"podium.workflows.{ref}.report"
    if ref not in SHIPPED or find_spec(module) is None:
        return GENERIC
    import_module(DELIVERY)
    return import_module(module).PRESENTATION()
