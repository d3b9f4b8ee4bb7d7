"""An MCP server whose tools need input, in the way of the protocol of 2026-07-28: a call returns what it
needs, and is repeated with that."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("resolving")


class Form(BaseModel):
    seats: int


async def how_many(city: str) -> Elicit[Form]:
    return Elicit(f"How many seats to {city}?", Form)


@server.tool()
async def book(city: str, form: Annotated[Form, Resolve(how_many)]) -> str:
    """Book seats."""
    return f"{form.seats} seats to {city}"


if __name__ == "__main__":
    server.run()
