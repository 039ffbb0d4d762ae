import bisect, heapq
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
heap = [5, 1, 4]
heapq.heapify(heap)
heapq.heappush(heap, 0)
print([heapq.heappop(heap) for _ in range(4)], heapq.nlargest(2, [1, 9, 5]))
print(bisect.bisect_left([1, 3, 3, 5], 3), Counter("hello").most_common(1))
ring = deque([1, 2, 3], maxlen=3)
ring.append(4)
ring.rotate(1)
groups = defaultdict(list)
groups["a"].append(1)
ordered = OrderedDict(a=1, b=2)
ordered.move_to_end("a")
print([*ring], dict(groups), [*ordered], ChainMap({"x": 1}, {"x": 2, "y": 3})["y"])
