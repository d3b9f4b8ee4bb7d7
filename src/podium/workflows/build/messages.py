"""The protocol between the roles: who sends what to whom. A request and its answer share a correlation id."""

from __future__ import annotations

from typing import Final

ORCHESTRATOR, PLANNER, CODER, TESTER, SUPERVISOR, ALL = (
    "orchestrator", "planner", "coder", "tester", "supervisor", "all",
)  # fmt: skip

ROUTES: Final[dict[str, tuple[str, str]]] = {
    "PLAN_REQUEST": (ORCHESTRATOR, PLANNER),
    "PLAN_RESPONSE": (PLANNER, ORCHESTRATOR),
    "REPLAN_REQUEST": (ORCHESTRATOR, PLANNER),
    "SUBPLAN_RESPONSE": (PLANNER, ORCHESTRATOR),
    "CODE_REQUEST": (ORCHESTRATOR, CODER),
    "CODE_RESPONSE": (CODER, ORCHESTRATOR),
    "CODE_FIX_REQUEST": (ORCHESTRATOR, CODER),
    "TEST_REQUEST": (ORCHESTRATOR, TESTER),
    "TEST_RESPONSE": (TESTER, ORCHESTRATOR),
    "FIX_PLAN": (TESTER, ORCHESTRATOR),
    "VERIFY_REQUEST": (ORCHESTRATOR, SUPERVISOR),
    "VERIFY_RESPONSE": (SUPERVISOR, ORCHESTRATOR),
    "CORRECTION": (SUPERVISOR, ORCHESTRATOR),
    "ESCALATION": (SUPERVISOR, ORCHESTRATOR),
    "STEP_COMPLETE": (SUPERVISOR, ORCHESTRATOR),
    "STEP_BLOCKED": (CODER, ORCHESTRATOR),
    "GOAL_COMPLETE": (SUPERVISOR, ORCHESTRATOR),
    "ABORT": (SUPERVISOR, ALL),
}
"""From and to. A correction goes to the role whose work it is about."""

ANSWERS: Final[dict[str, str]] = {
    "PLAN_REQUEST": "PLAN_RESPONSE",
    "REPLAN_REQUEST": "SUBPLAN_RESPONSE",
    "CODE_REQUEST": "CODE_RESPONSE",
    "CODE_FIX_REQUEST": "CODE_RESPONSE",
    "TEST_REQUEST": "TEST_RESPONSE",
    "VERIFY_REQUEST": "VERIFY_RESPONSE",
}
"""A fix is answered like the code it mends."""
