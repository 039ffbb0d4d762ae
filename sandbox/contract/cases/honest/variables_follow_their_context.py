import asyncio, contextvars
name = contextvars.ContextVar("name", default="none")
async def told(value):
    name.set(value)
    await asyncio.sleep(0.01)
    return name.get()
async def main(): return await asyncio.gather(told("a"), told("b"))
print(asyncio.run(main()), name.get(), contextvars.copy_context().run(name.set, "x") is not None)
