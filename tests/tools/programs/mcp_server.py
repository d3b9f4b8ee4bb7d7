"""A small MCP server on standard input and output that can be told to misbehave. Only the standard library.

Arguments: `greet` prints words that are no JSON first; `stubborn` ignores the end of its input and SIGTERM;
`mute` answers nothing; `die` ends at once with a last word; `log=FILE` notes each start.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

WAYS = sys.argv[1:]
_writing = threading.Lock()
_counting = threading.Lock()
_meeting = threading.Barrier(4)
_inside = 0
_most = 0


def answer(message: dict[str, Any], **reply: Any) -> None:
    with _writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}) + "\n")
        sys.stdout.flush()


def echo(args: dict[str, Any]) -> str:
    return str(args["text"])


def crash(args: dict[str, Any]) -> str:
    print("the roof fell in", file=sys.stderr, flush=True)
    os._exit(3)


def hang(args: dict[str, Any]) -> str:
    threading.Event().wait()
    return ""


def pids(args: dict[str, Any]) -> str:
    """Its own, and that of a process which has left its group and ignores what it is told."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(
        [sys.executable, "-c", code], start_new_session=True, stdin=quiet, stdout=quiet, stderr=quiet
    )
    return f"{os.getpid()} {child.pid}"


def environment(args: dict[str, Any]) -> str:
    return json.dumps(dict(os.environ))


def meet(args: dict[str, Any]) -> str:
    """Waits until four calls are here at once; the most that ever were."""
    global _inside, _most
    with _counting:
        _inside += 1
        _most = max(_most, _inside)
    _meeting.wait(60)
    with _counting:
        _inside -= 1
    return str(_most)


def large(args: dict[str, Any]) -> str:
    return "x" * 1_000_000


def refuse(args: dict[str, Any]) -> str:
    raise ValueError("not today")


TOOLS: dict[str, Callable[[dict[str, Any]], str]] = {
    "echo": echo,
    "crash": crash,
    "hang": hang,
    "pids": pids,
    "environment": environment,
    "meet": meet,
    "large": large,
    "refuse": refuse,
    "odd name!": echo,
    "odd_name_": echo,
}


def call(message: dict[str, Any]) -> None:
    parameters = message["params"]
    try:
        text, failed = TOOLS[parameters["name"]](parameters.get("arguments") or {}), False
    except (KeyError, ValueError) as error:
        text, failed = f"{type(error).__name__}: {error}", True
    answer(message, result={"content": [{"type": "text", "text": text}], "isError": failed})


def handle(message: dict[str, Any]) -> None:
    match message.get("method"):
        case "initialize":
            info = {"name": "small", "version": "1"}
            version = message["params"]["protocolVersion"]
            answer(
                message,
                result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info},
            )
        case "tools/list":
            schema = {"type": "object"}
            answer(message, result={"tools": [{"name": name, "inputSchema": schema} for name in TOOLS]})
        case "tools/call":
            threading.Thread(target=call, args=(message,), daemon=True).start()
        case _ if "id" in message:
            answer(message, error={"code": -32601, "message": "Method not found"})
        case _:
            pass


def main() -> None:
    for way in WAYS:
        if way.startswith("log="):
            with open(way.removeprefix("log="), "a") as log:
                log.write(f"{os.getpid()}\n")
    if "die" in WAYS:
        sys.exit(f"no luck with {os.environ.get('SMALL_KEY', 'nothing')}")
    if "greet" in WAYS:
        print("Welcome to the small server!", flush=True)
    if "stubborn" in WAYS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        if "mute" not in WAYS:
            handle(json.loads(line))
    while "stubborn" in WAYS:
        time.sleep(60)


if __name__ == "__main__":
    main()
