import importlib
import shapes.square
from shapes import Circle, area
module = importlib.import_module("shapes.inner.deep")
print(shapes.square.Square(3).area(), area(Circle(1)), module.WHERE, shapes.inner.deep is module)
