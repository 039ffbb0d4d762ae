from decimal import Decimal, getcontext
from fractions import Fraction
print(Decimal("0.1") + Decimal("0.2"), Fraction(1, 3) + Fraction(1, 6))
getcontext().prec = 30
print(Decimal(2).sqrt(), Fraction("0.125"))
