def primes(limit):
    sieve = bytearray([1]) * limit
    for n in range(2, int(limit ** 0.5) + 1):
        if sieve[n]: sieve[n * n :: n] = bytes(len(range(n * n, limit, n)))
    return sum(sieve) - 2
print(primes(2_000_000), (3 ** 100_000) % 997, sum(n * n % 7 for n in range(500_000)))
