"""The steps of a run, by subject: `async def name(state, ctx) -> update`."""
