print(sum(range(10)))
