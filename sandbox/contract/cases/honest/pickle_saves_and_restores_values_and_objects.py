import copy, pickle
from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int
value = {"points": [Point(1, 2)], "set": {1}, "bytes": b"x"}
print(pickle.loads(pickle.dumps(value)) == value, copy.deepcopy(value) == value)
print(copy.copy(value)["set"] is value["set"])
