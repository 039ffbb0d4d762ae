import functools, itertools, operator
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
@functools.singledispatch
def kind(value): return "any"
@kind.register
def _(value: int): return "int"
print(fib(90), kind(1), kind(""), functools.reduce(operator.mul, range(1, 6)))
print([*itertools.accumulate([1, 2, 3])], [*itertools.combinations("abc", 2)][-1])
print({key: len([*group]) for key, group in itertools.groupby("aabbb")})
print(functools.partial(int, base=2)("101"), [*itertools.pairwise("abc")], fib.cache_info().hits)
