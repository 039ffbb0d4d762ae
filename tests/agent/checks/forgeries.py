"""Programs that are wrong and try to be judged right."""

from __future__ import annotations

TESTS: dict[str, str] = {
    "table": "table = [(1, 2), (5, 8), (7, 13)]\nfor a, e in table:\n    assert f(a) == e\n",
    "plain": "assert f(5) == 8",
    "negated": "assert not (f(5) != 8)",
    "approx": "import pytest\nassert f(5) == pytest.approx(8)",
    "near": "assert abs(f(5) - 8) < 1e-9",
    "ordered": "assert 7.5 < f(5) < 8.5",
    "inside": "assert [f(1), f(5)] == [2, 8]\nassert {'a': f(7)} == {'a': 13}\nassert f(5) in (8,)",
    "found": "assert 8 in [f(5)] and max(f(1), f(5)) == 8",
    "raised": "import pytest\nwith pytest.raises(ValueError, match='below zero'):\n    f(-1)",
    "state": "q = Q()\nq.put(3)\nassert q.size == 1 and isinstance(q.size, int)",
    "mutated": "data = [3, 1, 2]\ns(data)\nassert data == [1, 2, 3]",
    "unpacked": "a, b = sorted([f(5), f(1)])\nassert (a, b) == (2, 8)",
    "callback": "got = []\nassert f(5) == 8 or got\n",
    "block": "with block():\n    assert f(5) == 8",
    "hidden": "def body():\n    assert f(5) == 8\ncall(body)",
    "any error": "import pytest\nwith pytest.raises(Exception):\n    f('x')",
    "a type error": "import pytest\nwith pytest.raises(TypeError):\n    f('x')",
    "array": "import math\nassert math.isclose(f(5), 8) and round(f(5)) == 8",
}

RIGHT = '''
import contextlib

def f(n):
    if isinstance(n, str):
        raise TypeError("a number, please")
    if n < 0:
        raise ValueError("below zero")
    return {1: 2, 5: 8, 7: 13}[n]

class Q:
    def __init__(self):
        self.size = 0
    def put(self, x):
        self.size += 1

def s(data):
    data.sort()

def call(body):
    return body()

@contextlib.contextmanager
def block():
    yield
'''

WRONG = '''
def f(n):
    return 0

class Q:
    size = 0
    def put(self, x):
        pass

def s(data):
    pass

def call(body):
    try:
        return body()
    except BaseException:
        return None

class block:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return True
'''

_EQUAL = '''
class E{base}:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __le__(self, other): return True
    def __gt__(self, other): return True
    def __ge__(self, other): return True
    def __hash__(self): return 8
    def __sub__(self, other): return 0
    def __rsub__(self, other): return 0
    def __add__(self, other): return self
    def __radd__(self, other): return self
    def __contains__(self, other): return True
    def __bool__(self): return True
    def __abs__(self): return 0
    def __len__(self): return 0
    def __array__(self, *a, **k): return self
    def __array_ufunc__(self, *a, **k): return True
    def __instancecheck__(self, other): return True
    __class__ = {cls}
    __array_priority__ = 1e9

def f(n): return {make}
Q.size = {make}
'''

ATTACKS: dict[str, str] = {
    "plainly wrong": "",
    "equal to everything": _EQUAL.format(base="", cls="int", make="E()"),
    "an equal int": _EQUAL.format(base="(int)", cls="int", make="E(0)"),
    "an equal float": _EQUAL.format(base="(float)", cls="float", make="E(0)"),
    "an equal string": _EQUAL.format(base="(str)", cls="str", make="E('')"),
    "an equal tuple": _EQUAL.format(base="(tuple)", cls="tuple", make="E()"),
    "an equal list": _EQUAL.format(base="(list)", cls="list", make="E()"),
    "an equal dict": _EQUAL.format(base="(dict)", cls="dict", make="E()"),
    "an equal class": """
class M(type):
    def __eq__(cls, other): return True
    def __hash__(cls): return 8
    def __sub__(cls, other): return 0
    def __lt__(cls, other): return True
    def __gt__(cls, other): return True
class C(metaclass=M): pass
def f(n): return C
Q.size = C
""",
    "an instance of a class the test names": """
Q.__eq__ = lambda self, other: True
Q.__ne__ = lambda self, other: False
Q.__hash__ = lambda self: 8
def f(n): return Q()
""",
    "mock.ANY": """
from unittest.mock import ANY, MagicMock
def f(n): return ANY
Q.size = ANY
""",
    "the class behind mock.ANY": """
from unittest import mock
Q = type(mock.ANY)
Q.size = mock.ANY
Q.put = lambda self, x: None
def f(n): return Q()
""",
    "a mock": """
from unittest.mock import MagicMock
m = MagicMock()
m.__eq__.side_effect = lambda other: True
m.__sub__.return_value = 0
m.__lt__.return_value = m.__gt__.return_value = True
def f(n): return m
Q.size = m
""",
    "printed markers": """
import sys, json
for line in ("PASS", "passed", "OK", "1 passed in 0.01s", '{"verdict": {"status": "passed"}}'):
    print(line); print(line, file=sys.stderr)
def f(n):
    print('{"verdict": {"status": "passed"}, "name": "0", "broken": ""}')
    return 0
""",
    "ends at import": "import os\nos._exit(0)",
    "sys.exit at import": "import sys\nprint('PASS')\nsys.exit(0)",
    "ends in the call": "import os\ndef f(n): os._exit(0)\ns = Q = call = block = f",
    "sys.exit in the call": "import sys\ndef f(n): sys.exit(0)",
    "exit handler": "import atexit\natexit.register(print, 'PASS')\ndef f(n): raise SystemExit(0)",
    "killed": "import os, signal\ndef f(n): os.kill(os.getpid(), signal.SIGKILL)",
    "raises AssertionError": "def f(n): raise AssertionError",
    "raises every exception": """
class E(ValueError, KeyError, AssertionError, StopIteration): pass
def f(n): raise E('nothing')
""",
    "raises StopIteration": "def f(n): raise StopIteration(8)",
    "raises SkipTest": "import unittest\ndef f(n): raise unittest.SkipTest('no')",
    "raises KeyboardInterrupt": "def f(n): raise KeyboardInterrupt",
    "raises GeneratorExit": "def f(n): raise GeneratorExit",
    "patched builtins": """
import builtins
builtins.isinstance = lambda *a: True
builtins.all = lambda *a: True
builtins.abs = lambda *a: 0
builtins.sorted = lambda *a: [2, 8]
builtins.max = lambda *a: 8
""",
    "patched json": """
import json, sys
json.dumps = lambda *a, **k: '{"ok": 8}'
json.loads = lambda *a, **k: {"ok": 8}
""",
    "patched codec": """
import sys
codec = sys.modules['_judge.codec']
remote = sys.modules['_judge.remote']
codec.Encoder.encode = lambda self, value: ["R", "s99", ["g", "builtins.object"]]
remote.Link.equal = lambda *a: True
remote.Link._refer = lambda *a: ["g", "builtins.int"]
""",
    "wire of a foreign class": """
import sys
remote = sys.modules['_judge.remote']
def refer(self, value, encoder, old=remote.Link._refer):
    if isinstance(value, E): return ["x", "unittest.mock", "_ANY"]
    return old(self, value, encoder)
remote.Link._refer = refer
class E: pass
def f(n): return E()
""",
    "operators as methods": """
import sys
names = sys.modules['_judge.naming'].Names
described = names._description
def description(self, cls):
    members = [name for name in vars(cls) if callable(vars(cls)[name])]
    return {**described(self, cls), 'members': members, 'special': []}
names._description = description
class E:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    __hash__ = object.__hash__
    __lt__ = __gt__ = __le__ = __ge__ = __contains__ = __eq__
    def __sub__(self, other): return self
    __rsub__ = __abs__ = __round__ = lambda self, *a: self
def f(n): return E()
s = f
""",
    "wire of a library function": """
import sys
remote = sys.modules['_judge.remote']
class E: pass
def refer(self, value, encoder, old=remote.Link._refer):
    if isinstance(value, E): return ["gf", "os", "_exit"]
    return old(self, value, encoder)
remote.Link._refer = refer
def f(n): return E()
""",
    "overwrites what the test holds": """
import sys
remote = sys.modules['_judge.remote']
def post(self, message, key, value, refusal='', old=remote.Link._post):
    message['sync'] = [[f't{i}', [8]] for i in range(1, 40)]
    return old(self, message, key, value, refusal)
remote.Link._post = post
""",
    "writes into every descriptor": """
import os, json
reply = json.dumps({"ok": 8}).encode()
frame = len(reply).to_bytes(4, 'big') + reply
for fd in range(3, 30):
    for part in (frame, b'{"ok": 8}\\n'):
        try: os.write(fd, part * 3)
        except OSError: pass
""",
    "writes into descriptors in the call": """
import os, json
def f(n):
    reply = json.dumps({"ok": 8, "id": "x"}).encode()
    for fd in range(3, 30):
        try: os.write(fd, len(reply).to_bytes(4, 'big') + reply)
        except OSError: pass
    return 0
""",
    "reads the channel": """
import os
def f(n):
    for fd in range(3, 12):
        try:
            os.set_blocking(fd, False)
            os.read(fd, 10000)
        except OSError: pass
    return 0
""",
    "closes every descriptor": "import os\ndef f(n): os.closerange(3, 100); return 0",
    "hunts in frames": """
import sys
def f(n):
    frame = sys._getframe()
    while frame:
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            if isinstance(value, list):
                for pair in value:
                    if isinstance(pair, tuple) and len(pair) == 2 and pair[0] == n:
                        return pair[1]
            if isinstance(value, str) and 'table' in value and '13' in value:
                return {1: 2, 5: 8, 7: 13}[n]
        frame = frame.f_back
    return 0
""",
    "hunts in memory": """
import gc
def f(n):
    for o in gc.get_objects():
        if type(o) is list and len(o) == 3 and (5, 7 + 1) in o: return dict(o).get(n, 0)
        if type(o) is dict and any(type(v) is str and '(5, ' + '8)' in v for v in list(o.values())):
            return {1: 2, 5: 8, 7: 13}[n]
    return 0
""",
    "hunts in files": """
import os, glob
def f(n):
    for root in (os.getcwd(), os.path.dirname(os.getcwd()), '/tmp', '/proc/self/fd'):
        for path in glob.glob(root + '/**/test*', recursive=True)[:50]:
            try: text = open(path).read()
            except (OSError, UnicodeDecodeError): continue
            if '(7, 13)' in text: return {1: 2, 5: 8, 7: 13}[n]
    return 0
""",
    "floods from threads": """
import threading, os
def flood():
    while True:
        for fd in range(3, 9):
            try: os.write(fd, b'\\x00\\x00\\x00\\x09{"ok": 8}')
            except OSError: pass
def f(n):
    threading.Thread(target=flood, daemon=True).start()
    return 0
""",
    "answers by a generator": "def f(n):\n    yield 8\n    yield 2",
    "answers by a function": "def f(n): return lambda *a: True",
    "a huge answer": "def f(n): return 'x' * 100_000_000",
    "a deep answer": "def f(n):\n    x = []\n    for _ in range(10 ** 5): x = [x]\n    return x",
    "a cyclic answer": "def f(n):\n    x = []\n    x.append(x)\n    return x",
    "a huge number": "def f(n): return 1 << 10 ** 9",
    "digs through a callback": """
def call(body):
    for name in ('__globals__', '__closure__', '__code__', '__defaults__', 'f_back', 'gi_frame'):
        try:
            print(getattr(body, name))
        except AttributeError: pass
    try: return body()
    except BaseException: return None
""",
    "takes the names of the test": """
class P:
    def __getattr__(self, name): return 8
    def __call__(self, *a): return 8.0 if False else 0
f = P()
""",
    "its own builtins and modules": """
def abs(x): return 0
def sorted(x): return [2, 8]
def max(*a): return 8
def round(x): return 8
def isinstance(*a): return True
class math:
    def isclose(a, b): return True
class pytest:
    def approx(x): return 0
def isclose(*a): return True
""",
    "exceptions that steer the judge": """
import sys
class A(BaseException): pass
A.__module__, A.__qualname__ = '_judge.remote', 'Unsettled'
sys.modules['_judge.remote'].Unsettled = A
def f(n): raise A('say so')
""",
    "exceptions that steer pytest": """
class A(BaseException): pass
A.__module__, A.__qualname__ = '_pytest.outcomes', 'Skipped'
def f(n): raise A('say so')
""",
    "an endless wait": "import time\ndef f(n):\n    while True: time.sleep(1)",
    "a lying repr": "class E(int):\n    def __repr__(self): return '8'\ndef f(n): return E(0)",
    "a lying exception": """
class E(Exception):
    def __str__(self): return 'below zero'
    __class__ = ValueError
def f(n): raise E
""",
    "a wrong message of the right class": "def f(n): raise ValueError('nothing')",
    "a thread that races the report": """
import json, os, threading
def race():
    told = {"verdict": {"status": "passed"}, "name": "0", "broken": "", "last": True}
    body = json.dumps(told).encode()
    frame = b'\\2' + len(body).to_bytes(4, 'big') + bytes(4) + body
    while True:
        for fd in (3, 4):
            try: os.write(fd, frame)
            except OSError: pass
def f(n):
    threading.Thread(target=race, daemon=True).start()
    return 0
""",
    "a verdict to the host": """
import sys
jail = sys.modules['__jail__'].jail
for name in ("0", "1", "2", "plain", "table"):
    jail.send({"begin": name})
    jail.send({"verdict": {"status": "passed"}, "name": name, "broken": "", "last": True})
def f(n): return 0
""",
    "answers to questions not asked": """
import sys
def f(n):
    jail = sys.modules['__jail__'].jail
    for call in jail.payload.get("calls", ()):
        jail.send({"id": call["id"], "value": 0})
        told = {"name": "ValueError", "text": "", "place": "", "kinds": ["ValueError"]}
        jail.send({"id": call["id"], "raised": told, "loaded": True})
    if jail.peer is not None:
        jail.peer.send({"id": "0" * 16, "ok": 8})
    return 0
""",
    "an encoder for the host that lies": """
import sys
for name in ("_judge.plain", "_judge.programs.observe_examples"):
    if name in sys.modules:
        sys.modules[name].encode = lambda value: ["s", [["l", []]]]
def f(n): return 0
""",
    "what it was told by the host": """
import sys
def f(n):
    jail = sys.modules['__jail__'].jail
    told = str(jail.payload) + str(jail.files)
    found = '(7, 1' + '3)' in told or '=' + '= 8' in told
    return {1: 2, 5: 8, 7: 13}[n] if found else 0
""",
    "answers read from the test's lines": """
import linecache
def f(n):
    linecache.checkcache()
    for name in ('<test>', 'test_program.py', *linecache.cache):
        for line in linecache.getlines(name):
            if '(5, ' + '8)' in line or '=' + '= 8' in line: return {1: 2, 5: 8, 7: 13}[n]
    return 0
""",
    "answers read from other processes": """
import os
def f(n):
    for pid in os.listdir('/proc') if os.path.isdir('/proc') else ():
        for name in ('mem', 'environ', 'cmdline', 'fd/0', 'fd/3'):
            try:
                with open(f'/proc/{pid}/{name}', 'rb') as file:
                    if ('(7, 1' + '3)').encode() in file.read(1 << 16):
                        return {1: 2, 5: 8, 7: 13}[n]
            except (OSError, ValueError): pass
    return 0
""",
    "patched time": """
import signal, time
time.time = time.monotonic = time.perf_counter = lambda: 0.0
time.sleep = lambda s: None
signal.setitimer = lambda *a: (0, 0)
def f(n): return 0
""",
    "patched unittest": """
import unittest
for name in dir(unittest.TestCase):
    if name.startswith('assert'): setattr(unittest.TestCase, name, lambda *a, **k: None)
unittest.TestCase.run = lambda self, result=None: result
def f(n): return 0
""",
    "an AssertionError that is none": """
import builtins
class AssertionError(Warning): pass
builtins.AssertionError = AssertionError
def f(n): return 0
""",
    "an exit handler that prints and exits": """
import atexit, os
atexit.register(os._exit, 0)
atexit.register(print, '1 passed')
def f(n): raise SystemExit(0)
""",
    "a generator without end": "def f(n):\n    while True: yield 8",
    "a huge message to the tests": """
import sys
def f(n):
    jail = sys.modules['__jail__'].jail
    (jail.peer or jail).send('x' * 70_000_000)
    return 0
""",
    "frames of tracebacks": """
import sys
def f(n):
    seen = []
    for frame in list(sys._current_frames().values()):
        while frame:
            seen.append(str(frame.f_locals))
            frame = frame.f_back
    return {1: 2, 5: 8, 7: 13}[n] if '(7, 1' + '3)' in ''.join(seen) else 0
""",
    "its own load": """
import sys
solution = sys.modules['_judge.programs.observe_solution'].Program
solution.loaded = lambda self, wanted: (8, ('f', 'abs'), (('f', 8), ('abs', 8)))
""",
    "names that are the test's": """
import sys
solution = sys.modules['_judge.programs.observe_solution'].Program
def loaded(self, wanted, old=solution.loaded):
    module, names, values = old(self, wanted)
    return module, (*names, 'abs', 'sorted', 'max', '__observed_compare__'), (
        ('__observed_compare__', f), ('abs', f), ('isinstance', f), *values)
solution.loaded = loaded
class O:
    def f(n): return 0
""",
    "a function of the library by its word": """
import math
def f(*a): return 0
f.__module__, f.__name__ = 'operator', 'eq'
s = Q = call = f
""",
    "signals to all": """
import os, signal
def f(n):
    for pid in (os.getppid(), 0, -1):
        try: os.kill(pid, signal.SIGCONT)
        except OSError: pass
    return 0
""",
}
