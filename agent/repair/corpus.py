"""How often each kind of node stands where in the standard library of Python 3.11.7.

One line a place: the kind of the parent, its field, and pairs of a kind of child and how often
it stands there. Written by `python -m evaluation.corpus`, which says what was counted.
"""

COUNTS = """
1 Add Name 4 int/1 4
1 LShift int 38 Name 11 8 6 1 4 5 3 0 3
1 Sub Name 6 Attribute 3
10 Pow Name 19 UnaryOp.USub 14 BinOp.Sub 10 Attribute 4
2 Mult Name 15 Attribute 3
2 Pow int 22 Name 5 method/0 4
3 Mult Name 4
4 Add Name 5
4 Mult Name 7
4 Sub 1 4
5 Mult BinOp.Pow 4
5 Pow Name 4
6 Sub 1 4 len/1 3
8 Mult int 3
AnnAssign annotation Name 22 Subscript 8 BinOp.BitOr 7
AnnAssign target Name 32 Attribute 5
AnnAssign value Subscript 9 None 3
Assert msg str 91 Name 14 BinOp.Mod 10 Tuple 9 repr/1 7 Attribute 6 JoinedStr 5 BinOp.Add 4
Assert msg method/1 3
Assert test Compare.Eq 131 UnaryOp.Not 44 isinstance/2 43 Compare.Is 42 Compare.IsNot 29
Assert test Compare.GtE 17 Attribute 16 Compare.In 14 BoolOp.Or 13 BoolOp.And 13 Name 12
Assert test Compare.Gt 12 Compare.LtE 9 method/0 7 Compare 7 method/1 6 Compare.NotIn 6 False 6
Assert test Compare.NotEq 5 Compare.Lt 4 hasattr/2 4 call/1 3 0 3
AssertionError/1 args0 BinOp.Mod 16 str 12 Name 9 JoinedStr 4 method/2 3
AssertionError/1 func0 Name 52
Assign targets Name 27703 Attribute 7794 Subscript 1950 Tuple 1942 List 10
Assign value Name 5136 method/1 3646 Attribute 3080 method/0 2051 Subscript 1874 None 1846
Assign value call/1 1718 method/2 1691 List 1639 str 1553 BinOp.Add 1254 Tuple 1040 call/0 847
Assign value call/2 801 0 780 Dict 768 False 706 True 672 method/3 473 call/3 462 BinOp.Mod 440
Assign value int 418 BinOp.Sub 368 1 306 empty 303 bytes 297 len/1 244 IfExp 242 BoolOp.Or 235
Assign value int/1 230 ListComp 230 letter 214 getattr/3 183 BinOp.Mult 169 UnaryOp.USub 143
Assign value list/1 130 getattr/2 108 JoinedStr 104 tuple/1 96 bytes/1 95 str/1 94 type/1 92
Assign value set/0 82 BinOp.Div 67 max/2 65 BinOp.BitOr 65 2 62 divmod/2 61 min/2 61 set/1 59
Assign value open/2 56 BinOp.FloorDiv 55 sorted/1 53 BoolOp.And 47 next/1 46 classmethod/1 45
Assign value dict/1 43 Lambda 41 3 41 4 41 BinOp.BitAnd 41 Compare.Eq 40 float 37 Await 37
Assign value BinOp.LShift 36 DictComp 36 5 35 object/0 33 6 32 frozenset/1 29 Set 29 repr/1 27
Assign value iter/1 26 8 26 GeneratorExp 25 str/2 23 10 22 Compare.In 21 float/1 21 7 21
Assign value bytearray/0 20 max/1 20 Compare.IsNot 18 BinOp.Pow 18 bool/1 18 memoryview/1 18
Assign value UnaryOp.Not 17 property/2 17 space 17 bytearray/1 16 ord/1 16 bytes/2 16 compile/3 15
Assign value map/2 15 int/2 15 Compare.NotEq 14 staticmethod/1 14 9 13 hash/1 11 id/1 11 min/1 11
Assign value dict/0 10 BinOp.RShift 10 hasattr/2 10 input/1 10 chr/1 10 isinstance/2 10 open/1 9
Assign value __import__/1 9 SetComp 8 BinOp.BitXor 8 next/0 8 eval/2 7 type/3 7 sum/1 7
Assign value __import__/3 7 filter/2 7 Compare.GtE 7 pow/3 6 RuntimeError/1 5 property/0 5 dir/1 5
Assign value any/1 4 Compare.Is 4 reversed/1 4 abs/1 3 max/3 3 format/2 3 next/2 3 range/1 3
Assign value range/2 3 min/3 3 round/1 3 all/1 3 globals/0 3 Compare.Gt 3 Compare.NotIn 3 Compare 3
AsyncFunctionDef args arguments 172
AsyncFunctionDef body Assign 179 Expr 153 If 153 Return 79 Try 51 Raise 35 While 8 Assert 7 Pass 6
AsyncFunctionDef body FunctionDef 5 For 4 AsyncWith 4 Delete 4
AsyncFunctionDef decorator_list Name 3 call/1 3
AsyncWith body Expr 3
AsyncWith items withitem 4
Attribute Add Name 68 Attribute 40 1 39 str 32 letter 27 BinOp.Mult 21 List 14 len/1 13 Subscript 9
Attribute Add space 4 2 3 bytes/2 3 max/2 3
Attribute BitAnd Name 40 Attribute 13 int 13 1 10 BinOp.LShift 3
Attribute BitOr Attribute 60 Name 3
Attribute BitXor Attribute 9
Attribute Div Name 8 float 3
Attribute Eq str 352 Attribute 242 Name 178 0 76 letter 44 1 40 UnaryOp.USub 10 int 9 List 6
Attribute Eq BinOp.Sub 4 method/0 4 bytes 3 4 3
Attribute FloorDiv 2 6 Attribute 5
Attribute Gt 0 71 1 19 Name 15 Attribute 14 2 4
Attribute GtE Attribute 31 0 17 2 15 4 12 str 7 1 7 Name 6 7 5 len/1 5 3 4 5 3
Attribute In Tuple 77 Name 56 Attribute 26 List 14 Set 8
Attribute Is None 435 Name 76 Attribute 35
Attribute IsNot None 461 Name 49 Attribute 20
Attribute Lt Attribute 34 0 20 len/1 12 Name 5 2 5 BinOp.LShift 4
Attribute LtE 0 17 Name 7 Attribute 6
Attribute Mod Tuple 6 Name 3 Dict 3
Attribute Mult Attribute 32 Name 23 int 17 8 5 2 3
Attribute NotEq Attribute 78 Name 47 str 47 0 17 letter 6 1 5 bytes 4 call/0 4 method/0 3
Attribute NotEq Subscript 3
Attribute NotIn Tuple 23 Name 21 Attribute 12 List 4
Attribute RShift int 15
Attribute Sub Attribute 55 1 28 Name 27 len/1 10 3 6
Attribute value Name 63219 Attribute 8118 str 592 Subscript 480 super/0 295 call/0 250 method/0 236
Attribute value method/1 225 empty 165 letter 146 type/1 117 call/1 93 space 83 method/2 83
Attribute value super/2 61 bytes 42 call/2 39 str/1 24 call/3 21 vars/1 18 method/3 15 globals/0 12
Attribute value BinOp.Mod 10 getattr/2 9 repr/1 9 memoryview/1 8 Dict 7 BinOp.Add 7 BinOp.Div 5
Attribute value set/1 4 iter/1 4 BoolOp.Or 4 BinOp.BitAnd 3 BinOp.Sub 3 getattr/3 3 str/2 3 None 3
Attribute value open/1 3 List 3 NamedExpr 3 eval/1 3
AttributeError/1 args0 BinOp.Mod 20 Name 18 JoinedStr 10 str 5 method/2 3
AttributeError/1 func0 Name 57
AugAssign.Add target Name 758 Attribute 185 Subscript 34
AugAssign.Add value 1 328 Name 181 BinOp.Add 54 len/1 45 letter 42 BinOp.Mod 41 str 29 BinOp.Mult 26
AugAssign.Add value Attribute 25 Subscript 22 JoinedStr 20 List 18 method/1 15 2 14 int 14
AugAssign.Add value method/2 13 method/0 13 Tuple 10 3 7 method/3 6 ListComp 6 BinOp.FloorDiv 6
AugAssign.Add value call/0 6 space 5 tuple/1 4 call/1 3 BinOp.Sub 3 bytes 3
AugAssign.BitAnd target Name 13 Attribute 3
AugAssign.BitAnd value UnaryOp.Invert 12 Name 4
AugAssign.BitOr target Name 72 Attribute 18
AugAssign.BitOr value Name 39 Attribute 31 int 5 BinOp.BitOr 3
AugAssign.BitXor target Name 9
AugAssign.BitXor value Name 3
AugAssign.Div target Name 4
AugAssign.FloorDiv target Name 26
AugAssign.FloorDiv value Name 11 10 4 5 4 2 3
AugAssign.LShift target Name 8
AugAssign.Mod target Name 3
AugAssign.Mult target Name 19 Attribute 7
AugAssign.Mult value BinOp.Pow 11 Name 7 2 3
AugAssign.RShift target Name 4
AugAssign.Sub target Name 114 Attribute 51
AugAssign.Sub value 1 90 Name 34 len/1 22 Attribute 5 int 4 BinOp.Add 3 method/0 3
Await value Name 35 method/0 27 method/3 26 method/1 24 method/2 19 call/1 12 Attribute 3
BinOp.Add Add Name 197 str 59 Attribute 54 letter 48 Subscript 38 List 26 bytes 21 method/1 18 1 16
BinOp.Add Add BinOp.Mult 11 Tuple 9 call/1 8 str/1 7 method/0 6 2 5 len/1 5 BoolOp.Or 4 method/2 4
BinOp.Add Add BoolOp.And 4 list/1 4 call/2 3
BinOp.Add Div Name 4
BinOp.Add Eq Name 7 Attribute 4
BinOp.Add FloorDiv 4 4 2 4 Name 3 8 3 3 3
BinOp.Add Gt Name 11 Attribute 4
BinOp.Add GtE 1 3
BinOp.Add In Name 6
BinOp.Add Lt Name 14
BinOp.Add LtE Name 6
BinOp.Add Mod 7 7 Attribute 5
BinOp.Add Mult Name 40 int 5
BinOp.Add Sub Name 23 1 17 BinOp.FloorDiv 4
BinOp.Add left Name 1711 BinOp.Add 565 str 440 Attribute 301 letter 184 BinOp.Mult 158 Subscript 119
BinOp.Add left Tuple 100 len/1 80 method/1 71 List 59 method/0 43 BinOp.Sub 42 bytes 40 method/2 25
BinOp.Add left space 18 call/1 17 list/1 15 int 13 call/0 12 BinOp.Mod 11 BoolOp.Or 11 call/2 11
BinOp.Add left 1 10 method/3 10 str/1 9 float 9 BinOp.FloorDiv 7 int/1 6 UnaryOp.USub 5 4 5
BinOp.Add left BinOp.RShift 4 BinOp.Pow 4 max/2 4 JoinedStr 4 getattr/3 3
BinOp.Add right Name 1319 1 644 str 290 Attribute 237 letter 222 Subscript 163 method/1 149
BinOp.Add right BinOp.Mult 145 2 84 len/1 64 List 61 bytes 54 call/1 50 Tuple 47 method/2 47
BinOp.Add right float 47 method/0 40 3 37 space 36 4 35 BinOp.Mod 35 call/2 35 int 33 str/1 31
BinOp.Add right repr/1 22 BoolOp.Or 21 list/1 18 method/3 18 BinOp.FloorDiv 14 6 12 8 11 5 11 7 10
BinOp.Add right BoolOp.And 10 bytes/2 9 BinOp.Div 8 int/1 7 BinOp.Sub 6 ListComp 5 BinOp.BitAnd 4
BinOp.Add right JoinedStr 4 chr/1 4 call/0 4 9 4 tuple/1 4 call/3 3 10 3 IfExp 3 BinOp.Add 3 max/2 3
BinOp.BitAnd Eq 0 4 Attribute 3 Name 3
BinOp.BitAnd LShift int 3
BinOp.BitAnd Mult 4 3
BinOp.BitAnd NotEq Name 5 0 5
BinOp.BitAnd left Name 178 Attribute 82 BinOp.RShift 29 Subscript 9 BinOp.BitOr 5 len/1 4 call/1 4
BinOp.BitAnd left BinOp.Add 4 int/1 3 ord/1 3 set/1 3 BinOp.Sub 3
BinOp.BitAnd right Name 129 int 102 1 24 Attribute 23 UnaryOp.Invert 21 BinOp.LShift 7 int/1 5
BinOp.BitAnd right BinOp.BitOr 3 BinOp.Add 3 3 3 2 3
BinOp.BitOr BitAnd int 3
BinOp.BitOr BitOr Attribute 17 Name 16 BinOp.LShift 8 Subscript 5
BinOp.BitOr left Name 77 Attribute 65 BinOp.BitOr 51 BinOp.LShift 20 Subscript 4 set/1 4 int 3
BinOp.BitOr right Attribute 88 Name 73 BinOp.LShift 20 int 11 Subscript 9 None 8 set/1 5 Set 3
BinOp.BitOr right frozenset/1 3
BinOp.BitXor left Name 11 Attribute 10 BinOp.RShift 3 int/1 3
BinOp.BitXor right Attribute 10 Name 7 int 6 Subscript 3
BinOp.Div Sub Name 3
BinOp.Div left Name 70 BinOp.Mult 23 BinOp.Sub 17 Attribute 15 float 14 call/1 10 BinOp.Add 9
BinOp.Div left method/1 9 UnaryOp.USub 7 int/1 4 abs/1 4 call/0 3 int 3
BinOp.Div right Name 83 float 42 Attribute 23 call/1 11 2 7 BinOp.Sub 7 BinOp.Mult 6 3 4 BinOp.Add 3
BinOp.FloorDiv Add 1 3 int 3
BinOp.FloorDiv Mult 3 3 4 3
BinOp.FloorDiv Sub BinOp.FloorDiv 3
BinOp.FloorDiv left Name 84 BinOp.Sub 22 BinOp.Add 17 Attribute 13 UnaryOp.USub 13 BinOp.Mult 12
BinOp.FloorDiv left len/1 11 int 6
BinOp.FloorDiv right 2 51 Name 39 int 25 4 18 Attribute 13 BinOp.Mult 9 8 5 3 4 call/2 3 call/0 3
BinOp.FloorDiv right BinOp.Add 3
BinOp.LShift BitOr BinOp.LShift 9 Name 7
BinOp.LShift Sub 1 7
BinOp.LShift left 1 79 Name 25 Subscript 17 int 9 BinOp.BitAnd 4 int/1 3 BinOp.Sub 3
BinOp.LShift right int 72 8 21 Name 17 5 8 1 6 9 3 0 3 3 3
BinOp.Mod Add str 3
BinOp.Mod Eq 0 17 1 3
BinOp.Mod NotEq 0 3
BinOp.Mod left str 2270 Name 137 call/1 20 BinOp.Add 19 Attribute 15 BinOp.Sub 13 len/1 10
BinOp.Mod left BinOp.Mult 4 call/3 4 method/0 4 method/1 3 BinOp.Div 3
BinOp.Mod right Tuple 1053 Name 817 Attribute 225 Subscript 56 method/1 55 method/0 25 type/1 22
BinOp.Mod right str/1 21 call/1 21 7 20 int 20 repr/1 18 len/1 16 2 13 Dict 13 method/2 13
BinOp.Mod right BinOp.Sub 12 5 10 BinOp.Mult 9 call/2 8 dict/0 7 BinOp.Add 7 call/0 6 10 5 4 5
BinOp.Mod right float 5 int/1 4
BinOp.Mult Add float 45 BinOp.Mult 30 Name 26 1 14 Attribute 10 Subscript 5 str 4 BinOp.BitAnd 3
BinOp.Mult Add BinOp.Sub 3 str/1 3 5 3
BinOp.Mult Div Name 9 Attribute 8
BinOp.Mult FloorDiv BinOp.Mult 3
BinOp.Mult Mult int 8 Attribute 7 BinOp.Pow 4 Name 4
BinOp.Mult Pow 2 6
BinOp.Mult Sub BinOp.Mult 10 1 4 Name 4
BinOp.Mult left Name 340 Attribute 95 letter 75 int 71 float 58 BinOp.Add 54 space 42 BinOp.Mult 31
BinOp.Mult left List 26 BinOp.Sub 24 2 23 Subscript 22 UnaryOp.USub 19 bytes 14 call/1 11 4 11
BinOp.Mult left BinOp.FloorDiv 10 8 8 3 7 str 7 5 6 method/1 5 BinOp.BitAnd 5 BinOp.Mod 4 Tuple 4
BinOp.Mult left call/0 4 NamedExpr 4 BinOp.Div 4 int/1 3 10 3 7 3 len/1 3
BinOp.Mult right Name 431 int 143 Attribute 94 BinOp.Sub 70 2 36 float 27 BinOp.Add 26 BinOp.Pow 26
BinOp.Mult right len/1 23 8 23 4 15 call/1 10 3 10 int/1 9 7 9 BinOp.Mult 6 space 5 Subscript 5 10 4
BinOp.Mult right UnaryOp.USub 4 BinOp.FloorDiv 4 str 4 5 3 method/1 3 method/0 3
BinOp.Pow Sub 1 9 Name 3
BinOp.Pow left 10 52 2 35 Name 13 UnaryOp.USub 10 int 8 BinOp.Mult 6 5 5 Attribute 5 float 3
BinOp.Pow right Name 37 int 22 UnaryOp.USub 20 BinOp.Sub 18 Attribute 15 2 12 method/0 4 call/1 3
BinOp.Pow right BinOp.Div 3 float 3
BinOp.RShift BitAnd int 25 Name 4
BinOp.RShift NotEq int 3
BinOp.RShift left Name 37 Attribute 18 BinOp.Add 4 BinOp.Sub 3
BinOp.RShift right int 29 Name 11 1 10 5 5 8 4
BinOp.Sub Add 1 17 Name 5 Attribute 4 2 3 BinOp.FloorDiv 3
BinOp.Sub BitAnd int 3
BinOp.Sub Div Name 10
BinOp.Sub FloorDiv 2 10 Name 7
BinOp.Sub Mod 7 6
BinOp.Sub Mult int 4 BinOp.Sub 4 Name 3 space 3
BinOp.Sub RShift 1 3
BinOp.Sub Sub Name 25 1 21 len/1 4 2 4 Attribute 4
BinOp.Sub left Name 590 Attribute 135 len/1 107 BinOp.Sub 66 BinOp.Add 52 method/0 50 float 21
BinOp.Sub left BinOp.Mult 20 Subscript 18 int 15 BinOp.Pow 14 call/1 14 1 10 int/1 10 call/0 9
BinOp.Sub left UnaryOp.USub 8 method/1 8 6 8 4 7 BinOp.LShift 7 BinOp.FloorDiv 6 BinOp.Div 4
BinOp.Sub left call/2 3 set/1 3 Compare.Gt 3 ord/1 3
BinOp.Sub right Name 409 1 382 Attribute 108 len/1 89 BinOp.Mult 30 int 28 method/0 26 2 20
BinOp.Sub right call/0 12 BinOp.FloorDiv 11 3 11 Subscript 9 set/1 9 BinOp.Add 8 Compare.Lt 6
BinOp.Sub right method/3 6 float 6 method/1 5 BinOp.Div 5 BinOp.Pow 3 6 3 5 3
BoolOp.And values Name 714 Compare.Eq 678 UnaryOp.Not 584 Compare.IsNot 366 Attribute 353
BoolOp.And values Compare.In 260 Compare.NotEq 219 Compare.Is 219 method/1 188 isinstance/2 169
BoolOp.And values Compare.NotIn 145 Compare.Gt 141 Compare.Lt 97 hasattr/2 96 method/0 89
BoolOp.And values Compare.GtE 87 BoolOp.Or 83 call/1 66 issubclass/2 40 Compare.LtE 34 Compare 34
BoolOp.And values BinOp.BitAnd 32 method/2 20 Subscript 17 str 15 letter 12 getattr/3 10 call/2 8
BoolOp.And values BinOp.Mod 8 BinOp.Add 7 BoolOp.And 5 all/1 4 call/3 4 any/1 3 bool/1 3 1 3
BoolOp.Or Add Name 4
BoolOp.Or values Name 471 Attribute 299 UnaryOp.Not 285 Compare.Eq 221 method/1 210 Compare.Is 193
BoolOp.Or values BoolOp.And 163 Compare.In 131 Compare.NotEq 120 str 85 empty 72 method/0 69
BoolOp.Or values Compare.IsNot 69 call/1 67 List 61 Compare.Lt 58 Compare.Gt 53 isinstance/2 37
BoolOp.Or values letter 35 None 28 Compare.NotIn 28 Subscript 26 Compare.LtE 22 getattr/3 22
BoolOp.Or values Compare.GtE 21 call/0 17 Tuple 15 hasattr/2 14 method/2 14 Compare 13 Dict 10 0 8
BoolOp.Or values call/2 8 method/3 8 BinOp.Add 6 1 6 BinOp.Mod 5 BinOp.BitAnd 5 len/1 4 any/1 3 7 3
BoolOp.Or values bytes 3 callable/1 3 BoolOp.Or 3
ClassDef bases Name 1604 Attribute 885 Subscript 5 method/2 4
ClassDef body FunctionDef 11108 Assign 2455 Expr 1107 Pass 269 AsyncFunctionDef 148 If 22
ClassDef body AnnAssign 15 ClassDef 14 Delete 3
ClassDef decorator_list Name 13 call/1 10 Attribute 3
ClassDef keywords keyword 54
Compare comparators Name 157 int 65 Attribute 21 len/1 12 call/1 11 Subscript 10 BinOp.LShift 9 0 7
Compare comparators bytes 7 letter 6 float 4 None 4 int/1 3 2 3 str 3 BinOp.Pow 3
Compare left 0 63 Name 24 int 23 1 20 Subscript 8 bytes 7 UnaryOp.USub 6 Attribute 6 float 4
Compare.Eq comparators str 1146 Name 660 letter 559 Attribute 419 0 353 1 233 2 100 UnaryOp.USub 68
Compare.Eq comparators bytes 60 empty 55 int 44 3 34 Subscript 28 len/1 24 4 22 List 21 Tuple 18
Compare.Eq comparators method/1 17 method/0 16 BinOp.Add 15 type/1 12 space 12 BinOp.Sub 11 float 10
Compare.Eq comparators call/1 9 8 6 6 6 ord/1 6 int/1 4 BinOp.Mult 3 5 3 set/1 3 call/0 3 IfExp 3
Compare.Eq left Name 1940 Attribute 990 Subscript 515 len/1 245 method/0 93 method/1 76 call/1 28
Compare.Eq left BinOp.Mod 21 type/1 16 BinOp.Add 13 BinOp.BitAnd 10 method/2 9 Tuple 7 getattr/3 6
Compare.Eq left BinOp.Sub 5 str/1 3
Compare.Gt Sub Compare.Lt 3
Compare.Gt comparators 0 230 Name 180 1 94 Attribute 73 int 47 2 25 len/1 17 float 8 BinOp.Sub 7 5 7
Compare.Gt comparators 4 7 3 6 Subscript 6 UnaryOp.USub 5 BinOp.Pow 3 method/1 3 10 3
Compare.Gt left Name 351 len/1 180 Attribute 131 BinOp.Add 18 method/0 16 method/1 12 Subscript 8
Compare.Gt left BinOp.Sub 5 call/1 3 abs/1 3 BinOp.Mult 3
Compare.GtE comparators 0 129 Name 63 Attribute 62 2 37 1 25 len/1 23 int 18 4 18 3 13 Tuple 8 str 7
Compare.GtE comparators float 6 7 5 BinOp.Pow 4 6 4 method/1 3 5 3
Compare.GtE left Name 232 Attribute 117 len/1 34 method/1 20 Subscript 10 method/0 9 BinOp.Add 7
Compare.GtE left BinOp.Sub 3
Compare.In comparators Name 912 Attribute 383 Tuple 273 Set 42 str 42 List 27 Subscript 19
Compare.In comparators method/0 19 bytes 16 method/1 4 str/1 3 call/1 3
Compare.In left Name 810 str 289 letter 188 Attribute 187 Subscript 179 method/0 14 method/1 12
Compare.In left Tuple 11 space 8 id/1 8 type/1 6 BinOp.Add 6 ord/1 6 call/1 5 len/1 4 bytes 4 None 3
Compare.In left BinOp.BitAnd 3
Compare.Is comparators None 2049 Name 460 Attribute 82 True 22 False 17 type/1 13 ellipsis 7
Compare.Is comparators method/0 5
Compare.Is left Name 1939 Attribute 551 type/1 48 Subscript 46 getattr/3 19 method/1 18 method/0 14
Compare.Is left getattr/2 7 call/1 5 NamedExpr 4 call/0 3
Compare.IsNot comparators None 1778 Name 179 Attribute 36 type/1 4 Subscript 4
Compare.IsNot left Name 1367 Attribute 533 Subscript 24 method/1 21 type/1 12 method/0 11
Compare.IsNot left getattr/3 8 getattr/2 7 call/0 6 method/2 5 call/1 4 call/2 4 NamedExpr 3
Compare.Lt comparators 0 238 Name 191 Attribute 66 len/1 57 2 33 1 30 int 27 BinOp.LShift 15 4 12
Compare.Lt comparators 3 10 float 9 BinOp.Mult 8 BinOp.Sub 7 Subscript 6 5 6 UnaryOp.USub 4 8 4
Compare.Lt comparators Tuple 4 BinOp.Pow 3 method/0 3 letter 3
Compare.Lt left Name 521 Attribute 93 len/1 73 BinOp.Add 16 method/1 9 Subscript 8 method/0 6
Compare.Lt left BinOp.Sub 5 abs/1 4 Tuple 3 ord/1 3
Compare.LtE comparators 0 93 Name 54 Attribute 28 float 18 1 11 int 8 UnaryOp.USub 7 BinOp.Mult 5
Compare.LtE comparators method/0 3 3 3
Compare.LtE left Name 149 Attribute 35 len/1 28 BinOp.Add 10 abs/1 8 method/1 6 Subscript 3 Set 3
Compare.NotEq comparators Name 245 str 148 Attribute 146 letter 145 0 81 UnaryOp.USub 37 1 36
Compare.NotEq comparators bytes 28 int 24 Subscript 21 method/0 16 empty 15 2 14 len/1 14 Tuple 9
Compare.NotEq comparators 4 7 method/1 6 call/1 6 BinOp.Add 5 call/0 5 BinOp.Mult 4 space 4 type/1 4
Compare.NotEq comparators BinOp.BitAnd 4 6 4 3 3 Compare.Is 3
Compare.NotEq left Name 434 Attribute 220 Subscript 166 len/1 97 method/0 49 method/1 23
Compare.NotEq left BinOp.BitAnd 12 call/1 8 type/1 5 BinOp.Mod 4 Compare.Eq 4 Tuple 4 getattr/3 4
Compare.NotEq left BinOp.RShift 3
Compare.NotIn comparators Name 330 Attribute 118 Tuple 94 Set 15 str 15 List 10 Subscript 8 call/1 4
Compare.NotIn comparators method/0 3 str/1 3
Compare.NotIn left Name 338 letter 68 str 67 Attribute 65 Subscript 42 method/0 7 id/1 5 bytes 5
ConnectionError/1 args0 str 3
ConnectionError/1 func0 Name 3
ConnectionResetError/1 args0 Starred 7
ConnectionResetError/1 func0 Name 8
Delete targets Subscript 287 Name 134 Attribute 57
Dict keys int 7701 str 5877 letter 172 Attribute 170 Tuple 117 Name 76 1 24 2 24 4 22 0 22 8 21 3 20
Dict keys 5 20 7 20 6 19 9 19 10 19 None 4
Dict values int 7014 letter 2750 str 2509 1 458 Name 413 Tuple 330 0 158 Attribute 152 empty 104
Dict values List 58 None 43 method/0 38 8 30 2 28 Dict 27 method/2 24 4 24 10 22 6 20 5 19 3 19 7 18
Dict values 9 18 method/1 10 UnaryOp.USub 10 call/2 10 Lambda 9 False 8 float 8 BinOp.Mod 6 True 6
Dict values JoinedStr 5 call/1 4 call/0 4 set/0 4 str/1 3 getattr/3 3
DictComp generators comprehension 54
DictComp key Name 38 method/0 6 Attribute 3
DictComp value Name 19 Attribute 5 call/1 5 Subscript 4 method/1 3
EOFError/1 args0 str 9
EOFError/1 func0 Name 10
ExceptHandler body Assign 691 Expr 630 Raise 606 Pass 526 Return 437 If 359 Continue 68 Try 62
ExceptHandler body Break 46 For 23 ImportFrom 18 FunctionDef 18 AugAssign.Add 16 Import 10 Delete 8
ExceptHandler body With 4
ExceptHandler type Name 2080 Tuple 294 Attribute 141 call/0 3
Exception/1 args0 BinOp.Mod 3
Exception/1 func0 Name 4
Expr value str 7690 method/1 6890 method/0 2755 method/2 1772 method/3 1199 call/1 1098 call/2 617
Expr value print/1 489 call/0 364 Yield 348 call/3 311 print/2 127 setattr/3 119 Await 73
Expr value YieldFrom 72 print/0 65 print/3 30 ellipsis 18 exec/2 16 delattr/2 15 Attribute 13
Expr value __import__/1 12 exec/3 8 Name 7 letter 3 compile/3 3 int/1 3
FileExistsError/1 func0 Name 4
FileExistsError/2 args0 Attribute 3
FileExistsError/2 args1 str 3
FileExistsError/2 func0 Name 3
FileNotFoundError/1 args0 JoinedStr 5 Name 3
FileNotFoundError/1 func0 Name 11
For body If 1837 Assign 1436 Expr 1164 Try 211 For 174 AugAssign.Add 80 While 21 Delete 14 Assert 13
For body With 11 Return 10 AugAssign.Sub 7 AugAssign.BitOr 6 FunctionDef 5 Break 5
For body AugAssign.BitXor 3 AugAssign.LShift 3
For iter Name 992 method/0 355 Attribute 331 range/1 126 Tuple 95 method/1 83 Subscript 82
For iter enumerate/1 74 range/2 55 range/3 35 call/1 34 method/2 32 list/1 30 reversed/1 25
For iter sorted/1 22 zip/2 20 BinOp.Add 14 dir/1 13 List 13 call/0 13 call/2 9 call/3 9 map/2 9
For iter getattr/3 5 method/3 5 enumerate/2 4 BoolOp.Or 4 str 4 set/1 3 tuple/1 3
For orelse Return 27 Assign 26 Raise 16 Expr 14 If 8 Continue 8
For target Name 1899 Tuple 613
FormattedValue format_spec JoinedStr 27
FormattedValue value Name 679 Attribute 298 Subscript 40 method/1 22 call/1 22 len/1 17 method/0 15
FormattedValue value call/0 14 id/1 8 IfExp 6 BoolOp.Or 5 type/1 4 list/1 3 call/2 3 BinOp.Sub 3
FunctionDef args arguments 14724
FunctionDef body Assign 14608 Expr 11917 If 9989 Return 7756 For 1512 Try 1363 Raise 479 While 426
FunctionDef body With 336 FunctionDef 278 Assert 259 Import 209 ImportFrom 146 Pass 142
FunctionDef body AugAssign.Add 138 Global 122 Delete 76 AugAssign.Sub 31 ClassDef 20 Nonlocal 17
FunctionDef body AnnAssign 10 AugAssign.Mult 8 AugAssign.BitOr 7 AsyncFunctionDef 6
FunctionDef body AugAssign.BitAnd 4 AugAssign.BitXor 3 AugAssign.Div 3
FunctionDef decorator_list Name 886 Attribute 102 method/1 15 call/1 14 method/0 10 call/0 6
FunctionDef returns Name 81 Subscript 36 None 14 str 9 Attribute 3
GeneratorExp elt Name 39 method/1 29 call/1 20 call/2 20 method/2 18 str/1 14 Compare.In 13
GeneratorExp elt Compare.Eq 12 Tuple 12 Subscript 12 Attribute 12 method/0 10 IfExp 10 BinOp.Add 9
GeneratorExp elt BinOp.Mod 9 BinOp.Mult 9 JoinedStr 8 int/1 6 isinstance/2 6 len/1 5 BoolOp.And 4
GeneratorExp elt repr/1 4 BinOp.BitXor 4 method/3 3 UnaryOp.Not 3
GeneratorExp generators comprehension 326
If body Assign 10510 Expr 5575 Return 3947 If 3310 Raise 2744 Try 536 For 503 AugAssign.Add 492
If body Break 455 Continue 365 FunctionDef 183 Delete 182 Import 142 While 113 Assert 97
If body AugAssign.Sub 83 With 75 AugAssign.BitOr 69 ClassDef 50 Pass 47 ImportFrom 46
If body AugAssign.FloorDiv 13 AugAssign.Mult 12 AugAssign.BitAnd 8 Global 5
If orelse If 2551 Assign 2470 Expr 921 Return 582 Raise 322 Try 111 FunctionDef 81 For 78
If orelse AugAssign.Add 62 Assert 35 Break 34 While 29 Delete 21 Continue 19 With 15 Import 14
If orelse AugAssign.Sub 9 ImportFrom 8 ClassDef 8 AugAssign.BitOr 5 Pass 5 AugAssign.Mult 4
If test Compare.Eq 2655 UnaryOp.Not 2411 Compare.Is 2115 Name 2014 BoolOp.And 1696
If test Compare.IsNot 1441 Attribute 1206 Compare.In 1126 isinstance/2 908 BoolOp.Or 692
If test Compare.NotEq 645 method/1 503 Compare.Lt 465 Compare.Gt 453 Compare.NotIn 403 hasattr/2 258
If test Compare.GtE 257 method/0 235 Compare.LtE 149 call/1 146 BinOp.BitAnd 98 method/2 58
If test Subscript 43 Compare 42 call/2 40 issubclass/2 36 getattr/3 22 any/1 22 call/3 18
If test callable/1 15 NamedExpr 13 len/1 8 call/0 8 BinOp.Mod 7 all/1 6 method/3 3
IfExp body Name 80 str 61 Attribute 43 Subscript 24 method/1 21 letter 18 BinOp.Add 13 None 12
IfExp body List 9 method/0 8 UnaryOp.USub 8 empty 8 call/1 8 2 6 call/2 6 JoinedStr 6 int 4 int/1 4
IfExp body 0 4 True 4 min/2 4 1 4 method/2 4 set/1 3 Tuple 3 repr/1 3 call/0 3 str/1 3
IfExp orelse Name 85 None 64 str 46 Attribute 38 empty 31 0 17 List 12 1 11 method/1 11 letter 8
IfExp orelse BinOp.Add 7 UnaryOp.USub 7 int 6 False 6 Subscript 5 IfExp 5 Tuple 4 BinOp.Sub 3 Dict 3
IfExp test Name 124 Compare.Is 49 Compare.Eq 48 Attribute 34 Compare.IsNot 31 isinstance/2 21
IfExp test Compare.In 19 Compare.Gt 13 method/0 10 UnaryOp.Not 9 Compare.GtE 9 Compare.NotEq 7
IfExp test BoolOp.And 7 Compare.Lt 6 method/1 6 call/1 5 hasattr/2 3 BoolOp.Or 3
Import names alias 2105
ImportError/1 args0 str 22 method/1 10 Name 9 BinOp.Mod 6 BinOp.Add 5 JoinedStr 4
ImportError/1 func0 Name 58
ImportError/1 keywords0 keyword 24
ImportFrom names alias 1922
IndexError/1 args0 str 8
IndexError/1 func0 Name 10
JoinedStr values FormattedValue 1149 str 1038 letter 278 space 17
KeyError/1 args0 Name 24 BinOp.Mod 14 str 8 method/1 4 JoinedStr 3
KeyError/1 func0 Name 54
Lambda args arguments 166
Lambda body method/1 38 Compare.Eq 14 call/2 12 method/0 10 BinOp.Add 10 None 8 Subscript 8 Name 7
Lambda body True 6 BoolOp.And 6 Attribute 5 Tuple 4 Compare.In 4 method/2 3
List Add Name 35 list/1 5 Subscript 5 List 4 Attribute 3 ListComp 3
List Mult Name 8 BinOp.Sub 6 len/1 4
List elts str 3576 Name 664 Tuple 440 Attribute 130 int 122 call/0 71 None 69 letter 58 call/1 45
List elts empty 44 BinOp.Add 39 0 37 Starred 20 BinOp.Mod 19 Subscript 18 method/1 18 method/0 16
List elts call/3 12 repr/1 11 List 11 method/2 10 JoinedStr 9 int/1 6 10 6 3 5 UnaryOp.USub 5
List elts bytes 5 Dict 4 4 3 Compare.In 3
ListComp elt Name 118 Tuple 39 method/1 31 call/1 30 Subscript 27 Attribute 22 method/2 22
ListComp elt method/0 19 BinOp.Mod 19 BinOp.Add 14 call/2 10 str/1 8 IfExp 7 repr/1 5 int/1 5
ListComp elt JoinedStr 4 bytes/1 3
ListComp generators comprehension 414
LookupError/1 func0 Name 5
Match cases match_case 7
MatchClass cls Attribute 3
Module body Assign 3302 FunctionDef 3031 ClassDef 2364 Import 1500 ImportFrom 953 Expr 807 If 275
Module body Try 139 Delete 59 For 33 AsyncFunctionDef 15 Assert 9 AnnAssign 5
ModuleNotFoundError/1 args0 JoinedStr 3
ModuleNotFoundError/1 func0 Name 6
ModuleNotFoundError/1 keywords0 keyword 6
Name Add 1 447 Name 420 str 129 letter 107 2 65 Attribute 47 BinOp.Mult 40 method/1 38 Subscript 35
Name Add 4 33 3 30 call/2 28 Tuple 26 bytes 25 space 24 len/1 22 int 22 BinOp.Mod 22 method/2 19
Name Add method/3 16 method/0 14 call/1 12 8 9 List 9 6 8 5 7 7 7 BoolOp.Or 7 BinOp.Div 5
Name Add BinOp.FloorDiv 5 9 4 10 3 BinOp.Add 3 bytes/2 3
Name BitAnd Name 83 int 39 1 12 UnaryOp.Invert 11 Attribute 10 int/1 4 BinOp.LShift 3 2 3
Name BitOr Name 41 Attribute 10 None 8 int 6 set/1 3
Name BitXor Name 5 int 4
Name Div Name 26 float 23 BinOp.Sub 6 2 4 3 4
Name Eq str 601 Name 335 letter 261 0 180 Attribute 146 1 92 UnaryOp.USub 54 empty 45 2 40 bytes 36
Name Eq int 30 3 16 len/1 12 Subscript 12 List 12 Tuple 10 BinOp.Add 10 4 7 float 7 BinOp.Sub 7 6 3
Name Eq int/1 3
Name FloorDiv int 23 Name 21 2 19 4 10
Name Gt 0 117 Name 98 1 29 Attribute 28 int 24 2 9 len/1 8 float 7 UnaryOp.USub 5 Subscript 5
Name Gt BinOp.Sub 4 3 4 4 3
Name GtE 0 91 Name 39 len/1 17 Attribute 17 int 16 1 15 2 8 Tuple 6 6 4 float 4 4 3
Name In Name 352 Attribute 226 Tuple 151 Set 29 str 19 List 12 Subscript 10 method/0 4
Name Is None 1541 Name 314 Attribute 39 True 20 False 15 ellipsis 3 type/1 3
Name IsNot None 1247 Name 101 Attribute 15
Name LShift int 10 8 6 Name 3
Name Lt 0 210 Name 142 len/1 35 Attribute 26 1 26 int 17 2 14 BinOp.LShift 11 float 7 BinOp.Sub 6
Name Lt BinOp.Mult 5 UnaryOp.USub 4 Subscript 4
Name LtE 0 68 Name 28 float 13 Attribute 12 int 8 UnaryOp.USub 5 1 5
Name Mod Name 47 Tuple 17 int 14 2 9 5 8 10 5 BinOp.Mult 5 Attribute 5 method/1 4 dict/0 3 Dict 3
Name Mult Name 159 int 41 2 19 float 19 Attribute 18 BinOp.Sub 13 BinOp.Pow 11 BinOp.Add 11 4 5
Name Mult len/1 5 8 5 int/1 4 BinOp.FloorDiv 4 call/1 3 10 3 BinOp.Mult 3 3 3 str 3
Name NotEq Name 130 str 62 Attribute 55 letter 45 0 32 UnaryOp.USub 29 1 13 empty 11 int 11
Name NotEq Subscript 7 Tuple 5 method/0 4 bytes 4 len/1 3 method/1 3 call/1 3
Name NotIn Name 166 Attribute 82 Tuple 59 Set 9 str 5 List 5 Subscript 4 method/0 3 call/1 3
Name Pow Name 3
Name RShift int 14 Name 9 5 4 1 3
Name Sub Name 213 1 206 len/1 42 Attribute 26 int 17 method/0 15 2 11 BinOp.Mult 9 call/0 8 set/1 5
Name Sub Subscript 5 float 5 BinOp.Add 4 method/3 4 BinOp.Pow 3 3 3
NamedExpr Is None 4
NamedExpr IsNot None 3
NamedExpr Mult Name 4
NamedExpr target Name 33
NamedExpr value method/1 12 getattr/3 5 Attribute 5 BinOp.Sub 4 Subscript 3
NotImplementedError/0 func0 Name 13
NotImplementedError/1 args0 str 55 BinOp.Mod 8 Name 5
NotImplementedError/1 func0 Name 70
OSError/1 args0 str 45 Name 4 JoinedStr 3
OSError/1 func0 Name 57
OSError/2 args0 Attribute 9 Name 4 str 3
OSError/2 args1 str 7 Name 3 JoinedStr 3
OSError/2 func0 Name 16
OSError/3 args0 0 4
OSError/3 args1 Name 8 str 3
OSError/3 func0 Name 7
OverflowError/1 args0 str 10 Name 4
OverflowError/1 func0 Name 17
Raise cause None 164 Name 60
Raise exc ValueError/1 1024 call/1 753 TypeError/1 551 Name 372 method/1 191 RuntimeError/1 164
Raise exc call/3 80 call/2 76 NotImplementedError/1 70 AttributeError/1 57 OSError/1 57 method/2 57
Raise exc ImportError/1 57 KeyError/1 54 AssertionError/1 52 UnicodeError/1 28 call/0 23 method/0 19
Raise exc OverflowError/1 17 OSError/2 15 ValueError/2 14 SystemExit/1 13 NotImplementedError/0 13
Raise exc SyntaxError/1 13 Subscript 11 FileNotFoundError/1 11 EOFError/1 10 IndexError/1 10
Raise exc Attribute 9 ConnectionResetError/1 8 OSError/3 6 ModuleNotFoundError/1 6 LookupError/1 5
Raise exc Exception/1 4 FileExistsError/1 4 SystemError/1 3 TypeError/2 3 FileExistsError/2 3
Return value Name 2723 method/1 1146 Tuple 883 Attribute 817 method/3 593 method/0 584 method/2 505
Return value None 478 Subscript 466 call/1 401 False 377 BinOp.Mod 291 call/2 290 call/3 278
Return value BinOp.Add 259 True 251 str 157 BoolOp.Or 143 Compare.Eq 130 BoolOp.And 119 JoinedStr 85
Return value ListComp 85 0 77 List 75 Compare.In 75 UnaryOp.USub 72 1 64 call/0 63 empty 56 IfExp 54
Return value len/1 51 list/1 48 Await 41 tuple/1 41 bytes 37 BinOp.Sub 35 Compare.Lt 32 str/1 32
Return value hash/1 32 UnaryOp.Not 30 Compare.Gt 26 bool/1 26 iter/1 26 BinOp.Mult 25 getattr/2 24
Return value Compare.GtE 22 Dict 22 isinstance/2 21 Compare.LtE 20 repr/1 19 BinOp.Div 19 int/1 18
Return value BinOp.BitOr 16 Compare.IsNot 16 bytes/1 14 Compare.Is 13 BinOp.Pow 12 BinOp.BitAnd 12
Return value any/1 11 2 10 open/2 10 Compare.NotEq 10 next/1 10 sum/1 9 GeneratorExp 9 sorted/1 8
Return value Compare 8 Lambda 8 letter 7 dict/1 7 all/1 7 BinOp.FloorDiv 7 int/2 7 BinOp.BitXor 7
Return value set/1 6 SetComp 6 compile/3 5 UnaryOp.UAdd 5 chr/1 5 hasattr/2 5 8 5 getattr/3 5
Return value float/1 4 eval/3 4 DictComp 4 str/2 4 sum/2 4 str/3 4 complex/1 3 int 3 7 3 6 3
Return value filter/2 3 ValueError/1 3 Compare.NotIn 3 format/2 3 BinOp.RShift 3 issubclass/2 3
RuntimeError/1 args0 str 117 JoinedStr 27 BinOp.Mod 17 method/2 3
RuntimeError/1 func0 Name 169
Set elts str 272 int 118 Name 47 Attribute 20 letter 10 0 4 Tuple 4 empty 4 1 3 2 3 3 3 None 3
SetComp elt Name 6 BinOp.Mod 3
SetComp generators comprehension 17
Slice lower Name 353 1 325 UnaryOp.USub 108 BinOp.Add 90 2 76 int 52 0 45 len/1 30 3 26 BinOp.Sub 22
Slice lower 8 21 Attribute 19 4 16 method/0 9 5 7 method/1 5 6 3
Slice step UnaryOp.USub 12 2 4
Slice upper Name 288 UnaryOp.USub 264 BinOp.Add 170 2 86 int 77 3 67 1 57 0 43 4 33 6 29
Slice upper BinOp.Sub 26 5 13 Attribute 12 8 11 len/1 8 10 7 method/0 4 method/1 3 9 3
Starred value Name 510 Attribute 36 Subscript 29 method/2 28 method/0 15 call/1 10 method/1 9
Starred value GeneratorExp 6 BinOp.Add 5 ListComp 4 map/2 4 BinOp.Mult 3 call/0 3
Subscript Add Subscript 28 Name 28 str 14 1 8 letter 7 BoolOp.And 5 List 5 Attribute 4 bytes 4
Subscript Add BinOp.Mod 3 Tuple 3
Subscript BitAnd UnaryOp.Invert 5
Subscript Eq letter 240 str 134 Name 64 bytes 16 Attribute 13 Subscript 11 0 10 space 9 ord/1 6
Subscript In Name 98 Tuple 23 str 23 Attribute 15 bytes 15 Set 3
Subscript Is None 22 Name 18 ellipsis 4
Subscript IsNot None 18 Name 6
Subscript LShift int 8 8 5 5 4
Subscript Mult Name 12 Attribute 4
Subscript NotEq letter 92 str 24 Name 17 bytes 10 Subscript 8 Attribute 5 empty 3
Subscript NotIn Name 21 str 9 Tuple 4 Set 4
Subscript Sub 1 7 int 5
Subscript slice Name 2153 Slice 2074 0 1659 str 1129 UnaryOp.USub 475 1 464 Attribute 253 2 135
Subscript slice Subscript 125 Tuple 122 int 96 BinOp.Add 57 BinOp.Sub 51 3 37 method/1 28 letter 27
Subscript slice id/1 18 4 16 method/0 13 5 12 BoolOp.Or 10 type/1 9 call/1 9 BinOp.FloorDiv 8
Subscript slice BinOp.Mod 7 6 7 BinOp.BitAnd 5 call/2 5 None 4 8 4 call/0 4 ord/1 4 9 4 True 4
Subscript slice BinOp.BitXor 3 False 3
Subscript value Name 6374 Attribute 1863 Subscript 207 method/1 181 method/3 151 method/0 91
Subscript value method/2 69 call/2 21 call/1 17 call/0 14 List 8 memoryview/1 8 bytes 8 Dict 5
Subscript value Tuple 5 globals/0 5 list/1 4 sorted/1 3 tuple/1 3
SyntaxError/1 args0 str 8 Name 3
SyntaxError/1 func0 Name 13
SystemError/1 func0 Name 3
SystemExit/1 args0 BinOp.Mod 4 str 4 Name 3
SystemExit/1 func0 Name 13
Try body Assign 1804 Expr 904 If 540 Return 362 Import 100 ImportFrom 97 Try 85 For 67 While 55
Try body With 45 Delete 30 AugAssign.Add 18 Break 15 Raise 15 Assert 12 AnnAssign 6 FunctionDef 4
Try finalbody Expr 217 Assign 149 If 79 For 17 Try 14 Delete 11 AugAssign.Add 3
Try handlers ExceptHandler 2658
Try orelse Assign 162 If 129 Expr 94 Return 46 Try 25 AugAssign.Add 11 FunctionDef 10 For 9 Break 9
Try orelse Raise 7 Delete 6 While 3 ClassDef 3 ImportFrom 3 With 3
Tuple Add Name 55 method/1 18 method/2 8 Attribute 5 Subscript 5 Tuple 3
Tuple Eq Tuple 6
Tuple In Attribute 6 Name 5
Tuple Lt Tuple 3
Tuple NotEq Tuple 4
Tuple elts Name 12213 str 3417 Attribute 1782 Tuple 393 None 382 letter 378 Subscript 342 int 280
Tuple elts 0 278 method/1 180 call/1 152 BinOp.Add 147 empty 137 1 119 UnaryOp.USub 117 method/0 94
Tuple elts bytes 91 True 88 False 87 List 86 float 75 len/1 73 3 52 type/1 52 2 49 BinOp.Mod 44
Tuple elts Starred 43 BinOp.Sub 38 BinOp.Mult 35 method/2 33 call/2 32 int/1 30 id/1 29 BoolOp.Or 29
Tuple elts call/3 27 str/1 26 IfExp 26 Dict 26 10 22 call/0 22 6 21 5 20 BinOp.BitAnd 19 repr/1 18
Tuple elts 4 16 8 16 list/1 14 BinOp.FloorDiv 13 tuple/1 12 BinOp.Div 11 7 10 ord/1 10 JoinedStr 9
Tuple elts bytes/1 8 9 8 BinOp.RShift 7 getattr/2 7 method/3 6 min/2 6 next/1 6 bool/1 5 space 5
Tuple elts int/2 5 BinOp.BitOr 5 max/2 4 ellipsis 4 chr/1 4 round/2 4 hex/1 3 float/1 3 ListComp 3
Tuple elts BoolOp.And 3 Compare.In 3
TypeError/1 args0 str 242 BinOp.Mod 127 JoinedStr 110 method/1 30 Name 26 method/2 7 BinOp.Add 6
TypeError/1 args0 method/0 4
TypeError/1 func0 Name 553
TypeError/2 func0 Name 3
UnaryOp.Invert operand Name 16 Attribute 13 BinOp.BitOr 5
UnaryOp.Not operand Name 1303 Attribute 532 isinstance/2 450 method/1 309 method/0 187 hasattr/2 123
UnaryOp.Not operand call/1 100 Compare 60 BoolOp.And 56 Subscript 52 callable/1 42 Compare.In 41
UnaryOp.Not operand method/2 35 BoolOp.Or 33 BinOp.BitAnd 21 call/2 16 len/1 15 issubclass/2 14
UnaryOp.Not operand Compare.Eq 13 call/0 7 getattr/3 7 all/1 7 Compare.LtE 4 any/1 4 Compare.Gt 3
UnaryOp.Not operand call/3 3 Compare.Lt 3
UnaryOp.UAdd operand Name 5
UnaryOp.USub Div Attribute 4
UnaryOp.USub FloorDiv 2 8 Attribute 3
UnaryOp.USub Mult Name 8 Attribute 6
UnaryOp.USub Pow Attribute 7
UnaryOp.USub Sub Name 4 1 3
UnaryOp.USub operand 1 1164 Name 144 2 87 int 65 Attribute 35 3 33 float 30 6 14 len/1 14 4 13 5 10
UnaryOp.USub operand 9 10 method/1 9 10 9 call/1 9 BinOp.Pow 5 Subscript 5 7 5 BinOp.FloorDiv 4 8 3
UnicodeEncodeError/3 args1 Attribute 3
UnicodeError/1 args0 str 18 BinOp.Add 7 BinOp.Mod 3
UnicodeError/1 func0 Name 28
ValueError/1 args0 str 585 BinOp.Mod 246 JoinedStr 91 method/1 53 Name 25 BinOp.Add 14 method/2 7
ValueError/1 args0 str/1 3
ValueError/1 func0 Name 1029
ValueError/2 args0 str 11
ValueError/2 args1 Name 9 Attribute 4
ValueError/2 func0 Name 14
While body Assign 893 If 774 Expr 290 AugAssign.Add 142 Try 139 While 32 For 31 AugAssign.Sub 24
While body Break 11 AugAssign.FloorDiv 10 Delete 10 Assert 10 With 9 Pass 3 Return 3
While body AugAssign.BitOr 3
While orelse Assign 4 Expr 3 If 3
While test True 221 BoolOp.And 88 Name 84 Compare.Lt 68 1 62 UnaryOp.Not 30 Compare.IsNot 24
While test Compare.Gt 20 Compare.Eq 20 Attribute 17 Compare.In 13 BoolOp.Or 9 method/0 8
While test Compare.NotEq 7 Compare.GtE 7 method/1 6 Compare.LtE 5 Compare 4 Compare.NotIn 4
While test Subscript 4 Compare.Is 3
With body Expr 337 Assign 246 If 187 Return 98 For 58 Try 36 While 25 Import 13 AugAssign.Add 13
With body With 8 AugAssign.Sub 4 Delete 4
With items withitem 522
Yield value Name 120 Tuple 66 BinOp.Add 23 call/3 23 method/2 15 method/1 14 str 13 method/3 10
Yield value call/1 10 Subscript 9 call/2 6 None 5 Attribute 4 method/0 3 letter 3
YieldFrom value Name 14 method/1 14 method/0 9 call/3 8 call/2 7 Attribute 5 method/3 4 call/1 3
YieldFrom value method/2 3
__import__/1 args0 Name 19
__import__/1 func0 Name 22
__import__/1 keywords0 keyword 5
__import__/3 args0 Name 5
__import__/3 args1 List 8 globals/0 5 locals/0 5 Dict 4
__import__/3 func0 Name 8
abs/1 LtE float 3 BinOp.Mult 3
abs/1 args0 Name 34 BinOp.Sub 8 Attribute 4
abs/1 func0 Name 49
all/1 args0 GeneratorExp 24
all/1 func0 Name 29
any/1 args0 GeneratorExp 41
any/1 func0 Name 49
arg annotation Name 149 Subscript 21 Attribute 6
arguments args arg 29574
arguments defaults None 2583 False 517 str 397 0 349 Name 270 True 208 empty 168 Dict 142 1 123
arguments defaults Attribute 106 UnaryOp.USub 88 letter 74 Tuple 67 int 50 float 18 3 17 bytes 17
arguments defaults Subscript 16 List 15 2 11 call/0 8 5 7 ellipsis 7 8 6 4 6 10 6 9 4 Lambda 4
arguments defaults call/1 3 6 3 space 3
arguments kw_defaults None 409 False 149 True 86 Name 54 0 35 Attribute 25 str 12 Tuple 9 int 7 1 6
arguments kw_defaults UnaryOp.USub 5 empty 3
arguments kwarg arg 590
arguments kwonlyargs arg 839
arguments posonlyargs arg 185
arguments vararg arg 606
ascii/1 args0 Name 3
ascii/1 func0 Name 3
bool/1 args0 Name 21 BinOp.BitAnd 12 Attribute 11 method/1 4 Compare.Eq 3
bool/1 func0 Name 62
bytearray/0 func0 Name 21
bytearray/1 args0 Name 11
bytearray/1 func0 Name 18
bytes Add Name 25 method/1 5 Attribute 4 method/0 3
bytes In Name 4
bytes Mult BinOp.Sub 6 int 3
bytes NotIn Name 5
bytes/1 args0 List 76 Name 28 Tuple 7 Attribute 5 Subscript 4 GeneratorExp 4
bytes/1 func0 Name 129
bytes/2 args0 Name 20 BinOp.Mod 3
bytes/2 args1 str 18 Attribute 9
bytes/2 func0 Name 28
call/0 Add Name 10
call/0 Div float 3
call/0 Is None 3
call/0 IsNot None 6
call/0 Mult Name 4
call/0 Sub Attribute 5 Name 4
call/0 func0 Name 1928 Subscript 10 type/1 6 getattr/2 3
call/0 keywords0 keyword 303
call/0 keywords1 keyword 716
call/1 Add call/1 4
call/1 BitAnd int 4
call/1 Div Name 7 call/1 3
call/1 Eq Name 10 call/1 8 2 3
call/1 Is None 3
call/1 IsNot None 3
call/1 Mod Name 14 Tuple 3
call/1 Mult 2 4 Name 4
call/1 NotEq call/1 3
call/1 Sub Name 13
call/1 args0 Name 3108 str 755 Attribute 274 BinOp.Mod 243 Subscript 209 Starred 135 int 99
call/1 args0 method/1 84 Tuple 69 BinOp.Add 66 JoinedStr 52 call/1 50 letter 46 method/0 41 0 33
call/1 args0 BinOp.Mult 29 method/2 24 GeneratorExp 21 List 20 1 19 BinOp.Sub 16 BinOp.Div 13
call/1 args0 UnaryOp.USub 12 call/2 12 BoolOp.Or 11 str/1 10 None 9 3 9 repr/1 8 BinOp.BitAnd 8
call/1 args0 method/3 8 bytes 7 call/0 6 float 6 Compare.Is 6 empty 5 type/1 5 IfExp 4 2 4 iter/1 4
call/1 args0 True 4 False 4 10 3 4 3 5 3 7 3
call/1 func0 Name 5535 Subscript 15 call/1 10 type/1 10 getattr/2 7 call/3 5
call/1 keywords0 keyword 456
call/1 keywords1 keyword 263
call/2 Add 1 5 Name 3
call/2 IsNot Name 3
call/2 args0 Name 1346 str 352 Attribute 208 letter 41 Subscript 32 BinOp.Mod 28 0 28 BinOp.Mult 21
call/2 args0 BinOp.Add 19 call/1 18 None 16 type/1 13 1 13 method/1 12 JoinedStr 11 BinOp.Div 7
call/2 args0 method/0 6 Tuple 6 List 6 UnaryOp.USub 6 int 6 BoolOp.Or 6 call/2 5 BinOp.Sub 5 float 5
call/2 args0 Compare.Is 5 UnaryOp.Not 4 call/0 3 BinOp.FloorDiv 3 method/2 3 BinOp.Pow 3
call/2 args0 Compare.In 3 BoolOp.And 3
call/2 args1 Name 1154 str 353 Attribute 148 int 124 BinOp.Mod 50 1 37 0 36 Tuple 36 BinOp.Add 35
call/2 args1 Subscript 32 Starred 28 method/1 21 letter 20 BinOp.Mult 16 2 16 BinOp.Sub 16 None 13
call/2 args1 BinOp.Pow 11 method/0 11 call/0 10 List 9 UnaryOp.USub 9 JoinedStr 8 call/1 7 False 7
call/2 args1 float 7 True 6 8 5 method/2 5 method/3 5 10 4 call/2 4 3 4 empty 4 Dict 4 len/1 3 4 3
call/2 args1 Lambda 3
call/2 func0 Name 2267 Subscript 7 getattr/2 6
call/2 keywords0 keyword 196
call/2 keywords1 keyword 72
call/3 args0 Name 877 Attribute 129 str 114 0 31 Subscript 25 BinOp.Mod 15 Tuple 12 int 12
call/3 args0 method/2 12 None 11 type/1 10 1 7 method/0 7 BinOp.Add 7 call/1 6 List 6 call/2 5
call/3 args0 BinOp.Sub 5 str/1 5 method/1 4 int/1 3 UnaryOp.USub 3 empty 3 open/2 3
call/3 args1 Name 2229 Attribute 357 str 208 None 87 Tuple 73 BinOp.Add 57 0 53 1 49 method/0 47
call/3 args1 letter 45 int 44 call/1 40 Subscript 35 BinOp.Sub 31 2 29 Starred 22 UnaryOp.USub 19
call/3 args1 Lambda 19 str/1 15 List 15 empty 15 BoolOp.Or 12 BinOp.Mult 12 call/2 12 float 12
call/3 args1 True 11 BinOp.Mod 11 False 10 JoinedStr 10 8 9 len/1 7 method/1 6 Dict 6 call/0 5
call/3 args1 call/3 4 tuple/1 3 method/2 3
call/3 func0 Name 1310 type/1 7 Subscript 6
call/3 keywords0 keyword 122
call/3 keywords1 keyword 80
callable/1 args0 Name 49 Subscript 6 getattr/3 3 Attribute 3
callable/1 func0 Name 64
chr/1 args0 Name 25 BinOp.BitAnd 4 BinOp.Add 3
chr/1 func0 Name 40
classmethod/1 args0 Name 29 Attribute 16
classmethod/1 func0 Name 45
compile/3 args0 Name 15 method/0 5
compile/3 args1 Name 25 str 24 Attribute 3
compile/3 func0 Name 24
compile/3 keywords0 keyword 4
complex/1 args0 Name 3
complex/1 func0 Name 6
comprehension ifs Compare.In 22 method/1 22 Name 22 BoolOp.And 21 Compare.NotEq 16 UnaryOp.Not 14
comprehension ifs Compare.Eq 14 Compare.NotIn 12 Compare.IsNot 8 Attribute 7 BoolOp.Or 6 method/0 5
comprehension ifs isinstance/2 5 call/1 5 Compare.Is 3
comprehension iter Name 378 method/0 109 Attribute 102 method/1 56 Subscript 22 range/1 22 zip/2 17
comprehension iter Tuple 16 range/3 14 call/1 13 enumerate/1 11 range/2 6 dir/1 6 call/2 6
comprehension iter method/2 4 BinOp.Add 3 str 3 list/1 3
comprehension target Name 665 Tuple 146
delattr/2 args0 Name 13
delattr/2 args1 Name 7 str 5 Attribute 3
delattr/2 func0 Name 15
dict/0 func0 Name 21
dict/0 keywords0 keyword 21
dict/0 keywords1 keyword 69
dict/1 args0 Name 23 Attribute 8 zip/2 6 method/0 5 GeneratorExp 4 enumerate/1 4 vars/1 3 call/1 3
dict/1 func0 Name 61
dict/1 keywords0 keyword 5
dir/1 args0 Name 22 Attribute 8
dir/1 func0 Name 31
divmod/2 args0 Name 36 Attribute 12 BinOp.Sub 4 len/1 4 BinOp.Mult 3
divmod/2 args1 int 16 Name 13 BinOp.Mult 7 call/0 7 Attribute 5 BinOp.LShift 4
divmod/2 func0 Name 61
enumerate/1 args0 Name 61 Attribute 10 Subscript 5 zip/2 4
enumerate/1 func0 Name 90
enumerate/1 keywords0 keyword 3
enumerate/2 args0 Name 3
enumerate/2 args1 1 3
enumerate/2 func0 Name 5
eval/1 args0 Name 5
eval/1 func0 Name 5
eval/2 args0 Name 7
eval/2 args1 Name 3 vars/1 3
eval/2 func0 Name 7
eval/3 args0 Name 6
eval/3 args1 Attribute 10 Name 6
eval/3 func0 Name 8
exec/2 args0 Name 7 method/0 4 BinOp.Mod 3
exec/2 args1 Name 11 Attribute 4
exec/2 func0 Name 16
exec/3 args0 Name 8
exec/3 args1 Name 16
exec/3 func0 Name 8
filter/1 args0 Name 4
filter/1 func0 Name 4
filter/2 args0 None 12 Attribute 5 Name 4
filter/2 args1 Name 8 Tuple 3
filter/2 func0 Name 21
float Add Name 5
float Div Name 9 float 4
float Mult Name 43 BinOp.Sub 9 BinOp.Add 3
float Sub Name 8 BinOp.Mult 4 call/0 4 method/0 3
float/1 args0 Name 28 call/1 5 Attribute 4 str 4
float/1 func0 Name 48
format/2 args0 Name 3
format/2 args1 Name 5
format/2 func0 Name 6
frozenset/1 args0 Set 10 str 9 Name 8
frozenset/1 func0 Name 40
getattr/2 Is None 3
getattr/2 IsNot Name 6
getattr/2 args0 Name 183 Attribute 24
getattr/2 args1 Name 165 BinOp.Add 18 Attribute 16 str 11
getattr/2 func0 Name 214
getattr/3 Is None 17
getattr/3 IsNot None 7
getattr/3 args0 Name 309 Attribute 24 method/0 3
getattr/3 args1 str 304 None 202 Name 56 False 42 0 15 Attribute 13 empty 13 Dict 10 Tuple 6
getattr/3 args1 BinOp.Add 5 int 5 letter 3 List 3
getattr/3 func0 Name 344
globals/0 func0 Name 34
hasattr/2 args0 Name 452 Attribute 57 Subscript 7 type/1 3
hasattr/2 args1 str 474 Name 33 Attribute 6 BinOp.Add 3
hasattr/2 func0 Name 519
hash/1 args0 Tuple 17 Attribute 14 method/0 4
hash/1 func0 Name 48
hex/1 args0 Name 4
hex/1 func0 Name 8
id/1 In Name 5 Attribute 3
id/1 NotIn Name 4
id/1 args0 Name 96 Attribute 6 Subscript 3
id/1 func0 Name 105
input/1 args0 str 7 Name 4
input/1 func0 Name 13
int Add BinOp.Mod 3
int Div Name 3
int FloorDiv Name 4
int LShift int 9
int Mult int 29 Name 27 8 4 len/1 3
int Pow BinOp.Sub 3
int Sub BinOp.Mult 4 Name 4
int/1 Add 1 4
int/1 Div float 3
int/1 Sub 6 3
int/1 args0 Name 188 Subscript 83 Attribute 53 method/1 19 method/0 17 BoolOp.Or 10 BinOp.Mult 8
int/1 args0 method/2 7 BinOp.Add 7 call/1 7 BinOp.Div 5 Compare.NotEq 3
int/1 func0 Name 424
int/2 args0 Subscript 18 Name 14
int/2 args1 int 19 8 9 0 6 10 3
int/2 func0 Name 37
isinstance/2 args0 Name 1554 Attribute 78 Subscript 37 getattr/3 4
isinstance/2 args1 Name 1334 Attribute 176 Tuple 154 type/1 10
isinstance/2 func0 Name 1676
issubclass/2 args0 Name 85 Subscript 7 Attribute 3
issubclass/2 args1 Name 79 Attribute 17
issubclass/2 func0 Name 97
iter/1 args0 Name 44 method/0 13 Tuple 9 Attribute 9 List 5
iter/1 func0 Name 92
iter/2 func0 Name 3
keyword value Name 2832 str 899 Attribute 849 True 355 False 172 List 162 1 136 2 114 letter 103
keyword value 0 92 Tuple 80 None 69 empty 44 method/0 36 method/1 36 int 33 space 31 Lambda 21 4 19
keyword value BinOp.Add 17 Subscript 15 5 15 3 14 call/1 12 UnaryOp.USub 10 IfExp 10 Dict 8
keyword value BinOp.Mod 8 BoolOp.Or 7 UnaryOp.Not 6 BinOp.Mult 6 10 6 call/0 6 8 5 method/2 3
keyword value Compare.Eq 3
len/1 Add 1 38 len/1 17 Name 11 2 6 Attribute 5
len/1 Eq 1 87 2 54 0 45 3 16 Name 12 4 9 len/1 8 8 3
len/1 FloorDiv BinOp.Mult 4 Attribute 3
len/1 Gt Name 45 1 42 0 26 Attribute 22 int 13 2 10 len/1 8 5 3 4 3
len/1 GtE 2 11 3 7 Name 6 Attribute 5 4 3
len/1 In Tuple 4
len/1 Lt Name 24 2 12 4 9 len/1 8 3 6 1 4
len/1 LtE Name 9 Attribute 4 1 4
len/1 NotEq Name 26 1 14 2 13 len/1 10 0 7 int 7 4 6 6 4
len/1 Sub 1 50 Name 28 len/1 19 Attribute 7
len/1 args0 Name 1455 Attribute 346 str/1 33 Subscript 33 method/1 18 method/0 14 method/2 7
len/1 args0 call/1 7 str 5 BoolOp.Or 3 repr/1 3 ListComp 3
len/1 func0 Name 1935
letter Add Name 103 BinOp.Mult 23 method/1 21 Subscript 14 Attribute 11 method/2 4
letter In Name 175 Attribute 7 Subscript 6
letter Mult Name 25 int 18 BinOp.Sub 15 Attribute 7 len/1 4 UnaryOp.USub 3
letter NotIn Name 60 Attribute 3
list/1 Add BoolOp.Or 5 list/1 5
list/1 args0 Name 104 method/0 81 Attribute 17 map/2 16 method/2 9 Subscript 8 call/1 8 method/1 8
list/1 args0 range/2 8 zip/2 5 call/2 5 filter/2 4 set/1 3
list/1 func0 Name 288
locals/0 func0 Name 10
map/2 args0 Name 87 Attribute 35
map/2 args1 Name 65 Attribute 20 method/1 8 method/0 6 Subscript 5 List 3
map/2 func0 Name 122
map/3 args1 Name 5
map/3 func0 Name 3
match_case body Assign 8 Return 3 While 3
match_case pattern MatchClass 4
max/1 args0 Name 15 GeneratorExp 4 map/2 3 method/0 3
max/1 func0 Name 27
max/1 keywords0 keyword 6
max/2 Add 1 3
max/2 args0 Name 35 0 19 BinOp.Sub 10 Attribute 8 1 6 method/0 4 BinOp.Add 3 2 3
max/2 args1 Name 23 BinOp.Sub 21 0 9 Attribute 7 int 5 BinOp.Add 4 method/0 4 BinOp.FloorDiv 4 1 3
max/2 args1 4 3
max/2 func0 Name 92
max/3 args1 Name 6
max/3 func0 Name 4
memoryview/1 args0 Name 39 Attribute 6
memoryview/1 func0 Name 47
method/0 Add Name 12 letter 6 Attribute 5 method/0 4 str 3
method/0 Eq str 39 Name 15 method/0 9 1 7 empty 7 0 6 UnaryOp.USub 3 letter 3
method/0 Gt 0 6 Name 5
method/0 GtE Attribute 6 Name 3
method/0 In Attribute 6 Tuple 4 Name 3
method/0 Is None 9 method/0 5
method/0 IsNot None 8 Name 3
method/0 Lt Attribute 3 method/0 3
method/0 Mod 7 3
method/0 NotEq str 14 0 10 method/0 8 UnaryOp.USub 5 Name 4 bytes 3
method/0 NotIn Tuple 3
method/0 Sub Name 23 1 11 method/0 7 len/1 4 Attribute 3
method/0 func0 Attribute 8507
method/0 keywords0 keyword 614
method/0 keywords1 keyword 1094
method/1 Add 1 20 Name 13 str 13 letter 12 method/1 3
method/1 Div call/1 4 Attribute 4
method/1 Eq Name 21 method/1 13 str 13 letter 10 0 9 Attribute 3 bytes 3
method/1 Gt 0 6
method/1 GtE 0 16
method/1 In Tuple 7 Attribute 3
method/1 Is None 11 Name 6
method/1 IsNot None 18
method/1 Lt 0 7
method/1 LtE 0 6
method/1 NotEq Name 6 bytes 6
method/1 Sub Name 3
method/1 args0 Name 7564 str 1904 Attribute 1091 letter 706 method/1 479 BinOp.Add 426 BinOp.Mod 423
method/1 args0 Tuple 327 Subscript 277 method/0 239 method/2 207 Starred 198 bytes 162 0 150 1 147
method/1 args0 method/3 144 call/1 108 JoinedStr 100 int 96 None 94 List 93 GeneratorExp 83
method/1 args0 BinOp.Mult 68 call/2 67 Dict 62 False 51 ListComp 44 2 37 True 33 BinOp.Sub 31 4 29
method/1 args0 str/1 28 map/2 28 empty 24 call/0 22 repr/1 21 space 21 BoolOp.Or 21 range/1 20
method/1 args0 BinOp.Div 18 len/1 16 call/3 16 type/1 14 8 13 UnaryOp.USub 13 int/1 10
method/1 args0 BinOp.BitOr 10 tuple/1 10 3 9 Lambda 8 float 8 IfExp 7 getattr/2 6 DictComp 6 min/2 5
method/1 args0 6 5 5 4 BinOp.LShift 4 BinOp.BitAnd 4 id/1 4 chr/1 3 sorted/1 3 getattr/3 3
method/1 args0 BinOp.BitXor 3 int/2 3 float/1 3 str/3 3 bytes/1 3 list/1 3
method/1 func0 Attribute 15878
method/1 keywords0 keyword 604
method/1 keywords1 keyword 356
method/2 Add 1 12 method/2 3 Name 3
method/2 Eq str 3
method/2 IsNot None 5
method/2 args0 Name 2451 str 1099 Attribute 588 letter 311 0 71 BinOp.Mod 57 bytes 46 Subscript 45
method/2 args0 method/0 45 BinOp.Add 43 method/1 43 None 40 1 33 space 22 JoinedStr 18 2 17
method/2 args0 BinOp.Sub 14 call/1 14 UnaryOp.USub 13 Tuple 13 int 13 method/2 10 empty 8 Lambda 6
method/2 args0 4 6 List 5 str/1 5 BinOp.Mult 5 6 4 call/3 3 3 3 method/3 3 Starred 3 BoolOp.Or 3
method/2 args1 Name 2384 str 658 Attribute 512 None 155 letter 147 BinOp.Add 108 method/1 103
method/2 args1 Starred 97 empty 92 0 90 1 90 Tuple 65 BinOp.Mod 64 Subscript 47 List 39 method/0 37
method/2 args1 2 36 str/1 35 False 31 BinOp.BitOr 25 int 25 True 25 len/1 24 bytes 24 call/1 21
method/2 args1 Dict 18 BinOp.Sub 16 BoolOp.Or 15 method/2 13 space 12 repr/1 9 call/0 7 type/1 6
method/2 args1 JoinedStr 6 Lambda 6 int/1 4 UnaryOp.USub 4 call/2 4 id/1 3 BinOp.Mult 3 float 3
method/2 func0 Attribute 5085
method/2 keywords0 keyword 429
method/2 keywords1 keyword 242
method/3 Add 1 3
method/3 args0 Name 1517 str 501 Attribute 461 letter 38 method/0 24 Subscript 19 Lambda 19 Tuple 17
method/3 args0 None 14 4 13 BinOp.Mod 11 List 11 2 11 3 9 BinOp.Add 7 empty 7 method/1 7 call/1 6
method/3 args0 BinOp.Sub 6 BinOp.Mult 6 1 5 BinOp.Div 5 int 4 0 3
method/3 args1 Name 4477 str 988 Attribute 763 0 109 Starred 101 None 81 Tuple 75 BinOp.Add 68
method/3 args1 List 58 1 54 int 46 Subscript 35 empty 34 2 32 False 32 letter 30 True 29 method/0 25
method/3 args1 BinOp.Sub 25 BinOp.BitOr 21 UnaryOp.USub 19 method/1 18 Dict 18 BinOp.Mod 15
method/3 args1 Lambda 15 BoolOp.Or 11 len/1 11 BinOp.Mult 10 3 10 IfExp 7 str/1 7 bytes 7 float 6
method/3 args1 space 5 BinOp.BitAnd 5 BinOp.FloorDiv 5 4 4 BoolOp.And 3 zip/2 3 call/2 3 method/2 3
method/3 func0 Attribute 2740
method/3 keywords0 keyword 141
method/3 keywords1 keyword 70
min/1 args0 Name 10
min/1 func0 Name 13
min/2 args0 Name 47 Attribute 9 BinOp.Sub 9 BinOp.Add 9 int 4 max/2 3
min/2 args1 Name 29 Attribute 15 BinOp.Sub 14 int 10 BinOp.Add 8 len/1 4
min/2 func0 Name 89
min/3 args1 Name 5
min/3 func0 Name 3
next/0 func0 Name 9
next/1 args0 Name 39 Attribute 20 iter/1 11
next/1 func0 Name 77
next/2 args0 Name 4 GeneratorExp 3
next/2 args1 Tuple 3 None 3
next/2 func0 Name 8
object/0 func0 Name 35
open/1 args0 Name 28 Attribute 3
open/1 func0 Name 36
open/1 keywords0 keyword 18
open/2 args0 Name 101 Attribute 15 method/2 12 BinOp.Add 3
open/2 args1 str 93 letter 29 Name 10 Attribute 3
open/2 func0 Name 137
open/2 keywords0 keyword 25
open/2 keywords1 keyword 7
open/3 args1 Attribute 4
ord/1 BitAnd int 3
ord/1 In Name 6
ord/1 args0 Name 31 letter 14 bytes 8 method/1 7 Subscript 7 space 3
ord/1 func0 Name 70
pow/3 args0 10 3 Name 3
pow/3 args1 Name 7 Attribute 3
pow/3 func0 Name 7
print/0 func0 Name 65
print/0 keywords0 keyword 15
print/1 args0 str 143 BinOp.Mod 82 Name 64 method/1 39 JoinedStr 35 BinOp.Add 28 call/1 23
print/1 args0 method/0 18 Attribute 8 BinOp.Mult 8 method/3 6 Subscript 5 empty 5 letter 5 repr/1 4
print/1 args0 call/2 4 method/2 3 call/0 3 Starred 3
print/1 func0 Name 489
print/1 keywords0 keyword 152
print/1 keywords1 keyword 16
print/2 args0 str 105 Name 6 BinOp.Add 3 len/1 3
print/2 args1 Name 44 repr/1 19 Attribute 13 method/1 11 BoolOp.Or 9 str 8 call/2 8 method/0 7
print/2 func0 Name 127
print/2 keywords0 keyword 16
print/3 args0 str 20 Name 7
print/3 args1 Name 27 str 22 Attribute 10 letter 6 method/1 4 method/0 3
print/3 func0 Name 30
property/0 func0 Name 5
property/1 args0 call/1 3
property/1 func0 Name 3
property/1 keywords0 keyword 3
property/2 args0 Name 18
property/2 args1 Name 18
property/2 func0 Name 18
property/2 keywords0 keyword 3
range/1 args0 Name 51 int 46 len/1 24 5 10 BinOp.Sub 9 Attribute 8 3 8 4 8 BinOp.FloorDiv 4 7 4
range/1 args0 BinOp.Add 3 10 3
range/1 func0 Name 187
range/2 args0 1 23 Name 22 int 12 BinOp.Add 7 0 4 Subscript 3
range/2 args1 Name 23 BinOp.Add 22 len/1 13 int 13
range/2 func0 Name 79
range/3 args0 0 34 BinOp.Sub 10
range/3 args1 len/1 30 UnaryOp.USub 19 Name 14 2 12 0 9 int 5 7 3 4 3
range/3 func0 Name 51
repr/1 args0 Name 176 Attribute 31 Tuple 3
repr/1 func0 Name 220
reversed/1 args0 Name 23 Attribute 13 range/1 5
reversed/1 func0 Name 47
round/1 args0 BinOp.Mult 4 Name 4
round/1 func0 Name 11
round/2 args0 Name 6
round/2 args1 3 5
round/2 func0 Name 9
set/0 func0 Name 100
set/1 Sub set/1 3
set/1 args0 Name 44 method/0 21 BinOp.Add 11 str 8 GeneratorExp 8 Attribute 7 map/2 6 dir/1 5
set/1 args0 method/1 4 call/1 4 letter 4
set/1 func0 Name 127
setattr/3 args0 Name 108 Attribute 9
setattr/3 args1 Name 164 Attribute 24 Subscript 9 str 7 getattr/2 6 call/1 5 call/2 4 UnaryOp.Not 3
setattr/3 args1 None 3
setattr/3 func0 Name 119
sides Add other 4146
sides BitAnd other 334
sides BitOr other 240
sides BitXor other 37
sides Div other 198
sides Eq other 4003
sides FloorDiv other 181
sides Gt other 736
sides GtE other 441
sides In other 1751
sides Is other 2662
sides IsNot other 2005
sides LShift other 146 same 4
sides Lt other 748
sides LtE other 250
sides Mod other 2514
sides Mult other 986 same 21
sides NotEq other 1051
sides NotIn other 609
sides Pow other 146
sides RShift other 67
sides Sub other 1210
sides arguments other 10906 same 58
sides indices other 171 same 36
sorted/1 args0 Name 43 method/0 39 method/1 6 set/1 5 Attribute 3 map/2 3 GeneratorExp 3
sorted/1 func0 Name 107
sorted/1 keywords0 keyword 22
sorted/1 keywords1 keyword 5
space Add Name 8 Subscript 3 method/1 3
space In Name 8
space Mult Name 22 8 5 Attribute 4 BinOp.Sub 4
staticmethod/1 args0 Attribute 12
staticmethod/1 func0 Name 14
str Add Name 258 method/1 33 Attribute 33 str 24 repr/1 18 Subscript 17 str/1 16 call/1 13
str Add BinOp.Mult 7 method/2 7 method/0 5 call/0 3
str In Name 181 Attribute 88 method/0 12
str Mod Tuple 1020 Name 746 Attribute 205 Subscript 56 method/1 50 method/0 24 type/1 22 str/1 21
str Mod call/1 20 repr/1 18 len/1 15 method/2 13 BinOp.Sub 11 call/2 8 BinOp.Add 5 Dict 5 call/0 4
str Mod int/1 4 BinOp.Mult 3
str NotIn Name 47 Attribute 15 str/1 3
str/1 Add letter 4
str/1 args0 Name 279 Attribute 47 Subscript 26 abs/1 10 BinOp.Mult 10 len/1 10 method/1 8
str/1 args0 BinOp.Sub 7 BinOp.Add 5 int/1 3 method/2 3 type/1 3
str/1 func0 Name 429
str/2 args0 Name 25 method/2 3 Subscript 3
str/2 args1 str 23 Name 6 Attribute 6
str/2 func0 Name 35
str/3 args0 Name 4 method/1 4
str/3 args1 str 15 Name 3
str/3 func0 Name 9
sum/1 args0 GeneratorExp 16
sum/1 func0 Name 23
sum/2 args0 GeneratorExp 4
sum/2 args1 List 3
sum/2 func0 Name 5
super/0 func0 Name 297
super/2 args0 Name 61
super/2 args1 Name 62
super/2 func0 Name 62
tuple/1 args0 Name 70 GeneratorExp 49 map/2 15 Attribute 12 Subscript 11 method/0 8 sorted/1 5
tuple/1 args0 method/2 5 ListComp 5
tuple/1 func0 Name 189
type/1 Eq type/1 12 Name 3
type/1 In Name 3 Tuple 3
type/1 Is Name 35 type/1 8 Attribute 5
type/1 IsNot Name 8 type/1 4
type/1 NotEq type/1 4
type/1 args0 Name 404 Attribute 41 None 24 Subscript 13 iter/1 13 empty 10 Dict 5 List 5 ellipsis 4
type/1 args0 call/0 4 method/0 3 Tuple 3
type/1 func0 Name 535
type/3 args0 Name 6
type/3 args1 Name 8 Tuple 7 Dict 3
type/3 func0 Name 9
vars/1 args0 Name 32
vars/1 func0 Name 33
withitem context_expr Attribute 114 method/0 68 open/2 65 Name 57 method/2 56 method/1 53 call/1 41
withitem context_expr open/1 22 call/2 14 call/0 13 method/3 9 memoryview/1 8 call/3 3
withitem optional_vars Name 241 Tuple 3
zip/1 args0 Starred 4
zip/1 func0 Name 4
zip/2 args0 Name 34 Attribute 11 map/2 3 range/1 3
zip/2 args1 Name 40 Attribute 12 Subscript 3
zip/2 func0 Name 58
zip/2 keywords0 keyword 3
"""
