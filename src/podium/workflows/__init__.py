"""Registry of the built-in workflows, one folder each; they are imported on first use."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from podium.engine.workflow import Workflow, load_workflow
from podium.report.presentation import GENERIC, Presentation

DELIVERY = "podium.workflows.delivery.events"
"""Module of the events that several workflows share."""
SHIPPED = ("build", "council", "research", "studio", "tree")
"""Names of the built-in workflows, which are also their folders."""


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
