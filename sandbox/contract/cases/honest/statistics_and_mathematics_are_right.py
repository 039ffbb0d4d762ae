import cmath, math, statistics
print(statistics.mean([1, 2, 4]), statistics.median([3, 1, 2]), statistics.stdev([1, 2, 3]))
print(math.comb(50, 25), math.isclose(math.pi, 22 / 7, rel_tol=1e-3), math.gcd(12, 18))
print(math.fsum([0.1] * 10), cmath.sqrt(-4), math.inf > 1e308, math.isqrt(10**20), 7**-1 % 3)
print(round(math.gamma(5)), pow(3, -1, 11), divmod(-7, 2), (0.1 + 0.2).hex())
