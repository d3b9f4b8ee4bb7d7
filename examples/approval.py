"""A human approval: draft, ask a person, revise until they approve.

podium run examples/approval.py "an invitation to the summer party"
podium answer last "shorter, please"
podium answer last approve
"""

import podium

writer = podium.Agent("writer", instructions="You write short, friendly messages.")

MAX_REVISIONS = 5


@podium.workflow
async def approval(run: podium.Run, request: str) -> str | podium.Partial:
    """Draft a message and revise it until a person approves. The run can wait without a running process."""
    draft = await run.ask(writer, "draft", prompt="Write: {{ request }}", request=request)
    for round_number in range(1, MAX_REVISIONS + 1):
        answer = await run.wait_for(
            f"Draft {round_number}:\n\n{draft}\n\nSend it? (approve, reject, or say what to change)"
        )
        if answer == "approve":
            return draft
        if answer == "reject":
            return podium.Partial(output=draft, reason="rejected")
        draft = await run.ask(
            writer, "revise", prompt="Revise this:\n{{ draft }}\n\nWish: {{ wish }}", draft=draft, wish=answer
        )
    return podium.Partial(output=draft, reason="revisions used up")
