class Meta(type):
    def __call__(cls, *args): return super().__call__(*args)
class Described:
    def __set_name__(self, owner, name): self.name = name
    def __get__(self, instance, owner): return self.name
class Base(metaclass=Meta):
    field = Described()
    __slots__ = ("a",)
    def __init_subclass__(cls, **options): cls.options = options
class Child(Base, option=1):
    def __getattr__(self, name): return name * 2
    @property
    def value(self): return super().field
    @classmethod
    def made(cls): return cls()
    def __matmul__(self, other): return ("@", other)
child = Child.made()
print(child.field, child.missing, child.value, Child.options, child @ 1, Child.__mro__[1].__name__)
match {"kind": "point", "at": [1, 2]}:
    case {"kind": "point", "at": [x, y]} if x < y: print("matched", x, y)
