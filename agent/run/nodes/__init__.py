"""The steps of a run, one file each: `async def name(state, ctx) -> update`."""
