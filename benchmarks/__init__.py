"""How much Podium costs per step, measured beside plain asyncio, a bare commit and LangGraph."""
