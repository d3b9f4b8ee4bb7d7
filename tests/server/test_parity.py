"""REST for everything that the command line can do: each command, and the operations that do the same."""

from __future__ import annotations

from podium.cli.app import COMMANDS, FAMILIES
from podium.server.app import build_api

SAME: dict[str, set[str]] = {
    "run": {"startRun", "estimateRun", "listWorkflows", "readWorkflow"},
    "resume": {"resumeRun", "pauseRun"},
    "replay": {"replayRun"},
    "fork": {"forkRun"},
    "runs": {"listRuns", "streamRuns"},
    "show": {"readRun", "readView", "listSteps", "readStep"},
    "events": {"listEvents", "streamEvents", "readBlob"},
    "report": {"readReport"},
    "trace": {"readTrace", "sendTrace"},
    "artifacts": {"listArtifacts", "readArtifact"},
    "answer": {"answerRun"},
    "chat": {"startRun", "answerRun", "listMessages"},
    "cancel": {"cancelRun"},
    "cache": {"readCache", "clearCache"},
    "models": {"listModels", "listModelsOf", "testModel"},
    "team": {"listTeams", "readTeam", "checkTeam", "readTeamFile", "readTeamStats"},
    "doctor": {"runChecks"},
    "brain show": {"listProjects", "listFacts", "readFact"},
    "brain search": {"searchFacts"},
    "brain review": {"readReview", "reviewFacts"},
    "brain forget": {"forgetFact", "forgetFacts"},
    "brain export": {"exportFacts"},
    "brain import": {"importFacts"},
    "brain embed": {"embedFacts"},
    "corpus add": {"addCorpus"},
    "corpus list": {"listCorpora"},
    "corpus search": {"searchCorpora"},
    "corpus remove": {"removeCorpus"},
}
OF_THE_MACHINE = {
    "serve",
    "worker",
    "schedule",
    "users",
    "workspaces",
    "copy",
    "migrate",
    "init",
    "completion",
    "prompts",
}
"""They are about machines, their stores and disks, and the shell: not about runs."""
OF_THE_SERVER = {"signIn", "signOut", "whoAmI", "readHealth", "readReadiness", "readMetrics"}


def commands() -> set[str]:
    families = {f"{name} {command[0]}" for name, (_, inside) in FAMILIES.items() for command in inside}
    return {name for _, name, *_ in COMMANDS if name not in FAMILIES} | families


def test_every_command_has_its_operations_or_is_about_the_machine() -> None:
    served = {command for command in commands() if command.split()[0] not in OF_THE_MACHINE}
    assert served == set(SAME)


def test_every_operation_is_somebody_s() -> None:
    paths = build_api().openapi()["paths"]
    offered = {operation["operationId"] for methods in paths.values() for operation in methods.values()}
    assert offered == OF_THE_SERVER.union(*SAME.values())
