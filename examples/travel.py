"""An agent with tools: it looks flights up and books one, if a person approves.

podium run examples/travel.py "Two seats to Lisbon"
podium answer last approve
"""

import podium

FLIGHTS = {"LH1": ("Lisbon", 120.0), "LH2": ("Porto", 95.0)}


@podium.tool(safe=True)
def find_flights(city: str) -> list[str]:
    """List the flights to a city, with prices."""
    return [f"{number} to {to}: {price:g} EUR" for number, (to, price) in FLIGHTS.items() if to == city]


@podium.tool(approve=True, once=True)
def book(ctx: podium.ToolContext, flight: str, seats: int = 1) -> str:
    """Book seats on a flight."""
    if flight not in FLIGHTS:
        raise ValueError(f"there is no flight {flight}")
    # A real booking would pass ctx.call_id on, so that it happens once whatever happens to this process.
    return f"{seats} seats on {flight} for {FLIGHTS[flight][1] * seats:g} EUR"


agent = podium.Agent("travel agent", instructions="You book flights.", tools=[find_flights, book])


@podium.workflow
async def travel(run: podium.Run, request: str) -> str:
    """Look flights up and book one, if a person approves."""
    return await run.ask(agent, "travel", prompt=request)
