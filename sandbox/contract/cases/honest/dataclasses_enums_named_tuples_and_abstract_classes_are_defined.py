import abc, enum
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple, Protocol, TypedDict, get_type_hints
class Colour(enum.Enum):
    RED = enum.auto()
class Flag(enum.IntFlag):
    A = 1
    B = 2
class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> float: ...
@dataclass(frozen=True, order=True, slots=True)
class Square(Shape):
    side: float = 1
    tags: list = field(default_factory=list, compare=False)
    def area(self): return self.side ** 2
class Pair(NamedTuple):
    a: int
    b: int = 2
class Movie(TypedDict): name: str
class Quacks(Protocol):
    def quack(self) -> str: ...
print(replace(Square(2), side=3).area(), asdict(Square()), Square(1) < Square(2))
print(Colour["RED"], Flag.A | Flag.B, Pair(1)._asdict(), get_type_hints(Movie))
try:
    Shape()
except TypeError as error:
    print("abstract" in str(error))
