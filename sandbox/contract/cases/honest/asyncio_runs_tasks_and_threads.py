import asyncio
async def main():
    print(await asyncio.gather(asyncio.to_thread(int, "7"), asyncio.sleep(0.01, 8)))
asyncio.run(main())
