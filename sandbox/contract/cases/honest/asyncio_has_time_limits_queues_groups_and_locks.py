import asyncio
async def worker(queue, out):
    while True:
        out.append(await queue.get())
        queue.task_done()
async def main():
    queue, out = asyncio.Queue(), []
    task = asyncio.create_task(worker(queue, out))
    for n in range(3): queue.put_nowait(n)
    await queue.join()
    task.cancel()
    try:
        async with asyncio.timeout(0.01): await asyncio.Event().wait()
    except TimeoutError:
        out.append("late")
    async with asyncio.TaskGroup() as group:
        one = group.create_task(asyncio.sleep(0, "one"))
    async with asyncio.Lock(): print(out, one.result())
asyncio.run(main())
