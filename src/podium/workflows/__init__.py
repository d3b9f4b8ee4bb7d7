"""The orchestrations that come with Podium, one folder each; imported when they are used."""

from __future__ import annotations

from importlib import import_module

from podium.engine.workflow import Workflow, load_workflow

SHIPPED = ("tree",)
"""Their names, which are those of their folders."""


def find_workflow(ref: str) -> Workflow:
    """A workflow by its name, or one's own in a file: `FILE.py:name`."""
    if ref in SHIPPED:
        return import_module(f"podium.workflows.{ref}.flow").WORKFLOW
    return load_workflow(ref, SHIPPED)
