def inner():
    total = 0
    while True:
        try:
            total += yield total
        except ValueError:
            return total
def outer():
    print("got", (yield from inner()))
    yield "end"
one = outer()
print(next(one), one.send(5), one.send(6), one.throw(ValueError), one.close())
async def ticks():
    for n in range(3): yield n
async def main(): return [n async for n in ticks() if n]
import asyncio
print(asyncio.run(main()))
