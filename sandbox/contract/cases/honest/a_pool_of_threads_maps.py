from concurrent.futures import ThreadPoolExecutor, as_completed
with ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(lambda n: n * n, range(100))))
    print(sorted(future.result() for future in as_completed([pool.submit(abs, -1)])))
