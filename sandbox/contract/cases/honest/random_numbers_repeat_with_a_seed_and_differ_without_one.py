import random
random.seed(5)
print(random.randint(1, 100), random.sample(range(9), 3), random.choice("abc"))
one = random.Random(1)
print(one.random() == random.Random(1).random(), random.SystemRandom().random() < 1)
print(len({random.Random().random() for _ in range(5)}))
