"""An MCP server whose tools ask back, in the way of the protocol before 2026: requests in mid-call. Only the
standard library.

Arguments: `log=FILE` notes each start and each call; `extra` has one more tool.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from queue import Queue
from typing import Any

_writing = threading.Lock()
_answers: dict[str, Queue[dict[str, Any]]] = {}
_LOG = next((way.removeprefix("log=") for way in sys.argv[1:] if way.startswith("log=")), "")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def note(line: str) -> None:
    if _LOG:
        with open(_LOG, "a") as log:
            log.write(f"{line}\n")


def send(message: dict[str, Any]) -> None:
    with _writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def request(number: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Ask the client and wait for its answer."""
    _answers[number] = Queue()
    send({"id": number, "method": method, "params": params})
    return _answers[number].get()


def book(args: dict[str, Any]) -> list[dict[str, Any]]:
    schema = {
        "type": "object",
        "properties": {"seats": {"type": "integer", "minimum": 1}},
        "required": ["seats"],
    }
    params = {"message": f"How many seats to {args['city']}?", "requestedSchema": schema}
    answer = request(f"form {threading.get_ident()}", "elicitation/create", params)
    return text(json.dumps(answer["result"]))


def summarise(args: dict[str, Any]) -> list[dict[str, Any]]:
    message = {"role": "user", "content": {"type": "text", "text": f"Summarise: {args['words']}"}}
    params = {"messages": [message], "systemPrompt": "You are brief.", "maxTokens": 50}
    answer = request(f"sample {threading.get_ident()}", "sampling/createMessage", params)
    if "error" in answer:
        return text(answer["error"]["message"])
    return text(answer["result"]["content"]["text"])


def draw(args: dict[str, Any]) -> list[dict[str, Any]]:
    return [*text("a dot"), {"type": "image", "data": PIXEL, "mimeType": "image/png"}]


def delete(args: dict[str, Any]) -> list[dict[str, Any]]:
    return text(f"deleted {args['what']}")


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def takes(*names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": [*names],
    }


def hints(*, read_only: bool = False, destructive: bool = True) -> dict[str, bool]:
    return {"readOnlyHint": read_only, "destructiveHint": destructive}


Work = Callable[[dict[str, Any]], list[dict[str, Any]]]
TOOLS: dict[str, tuple[Work, dict[str, Any], dict[str, bool]]] = {
    "book": (book, takes("city"), hints(destructive=False)),
    "summarise": (summarise, takes("words"), hints(destructive=False)),
    "draw": (draw, {"type": "object"}, hints(read_only=True)),
    "delete": (delete, takes("what"), hints()),
}
if "extra" in sys.argv:
    TOOLS["extra"] = (draw, takes(), hints(read_only=True))


def call(message: dict[str, Any]) -> None:
    parameters = message["params"]
    note(f"call {parameters['name']}")
    content = TOOLS[parameters["name"]][0](parameters.get("arguments") or {})
    send({"id": message["id"], "result": {"content": content}})


def handle(message: dict[str, Any]) -> None:
    match message.get("method"):
        case "initialize":
            result: dict[str, Any] = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "asking", "version": "1"},
            }
            send({"id": message["id"], "result": result})
        case "tools/list":
            tools = [
                {
                    "name": name,
                    "description": f"To {name}.",
                    "inputSchema": schema,
                    "annotations": annotations,
                }
                for name, (_, schema, annotations) in TOOLS.items()
            ]
            send({"id": message["id"], "result": {"tools": tools}})
        case "tools/call":
            threading.Thread(target=call, args=(message,), daemon=True).start()
        case None:
            _answers[message["id"]].put(message)
        case _ if "id" in message:
            send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        case _:
            pass


if __name__ == "__main__":
    note(f"start {os.getpid()}")
    for line in sys.stdin:
        handle(json.loads(line))
