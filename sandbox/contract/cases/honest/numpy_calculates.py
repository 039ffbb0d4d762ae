import numpy
grid = numpy.arange(12.0).reshape(3, 4)
print((grid @ grid.T).trace(), numpy.linalg.det(numpy.eye(3) * 2), grid.mean(axis=0).tolist())
print(numpy.random.default_rng(0).integers(0, 10, 3).tolist(), numpy.sort([3, 1, 2]))
