"""Honest programs: what people really write must run in the jail as it runs without one.

Each completes, prints exactly what stands beside it and complains of nothing.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox import honest_tests


@dataclass(frozen=True)
class Program:
    """A script and what it prints."""

    claim: str
    text: str
    prints: str
    stdin: str = ""
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files of the job, beside the script."""
    needs_files: bool = False
    """Reads or writes files by their names, so it asks for a level that has files."""
    needs_modes: bool = False
    """Changes the modes of its files, which Landlock cannot keep to the job's own: refused at
    L3 where the jail runs as its host's user."""
    package: str = ""
    """A package that must be installed; the job is given the folder it lies in."""
    path: str = ""
    """A file of the system that must be there."""
    processes: bool = False
    """Starts processes, so it asks to be granted them."""
    loopback: bool = False
    """Talks to itself over a network, likewise."""

    def missing(self) -> str:
        """What this machine lacks to run it; empty when nothing."""
        if self.package and importlib.util.find_spec(self.package) is None:
            return f"{self.package} is not installed"
        if self.path and not os.path.exists(self.path):
            return f"{self.path} does not exist"
        return ""

    def sites(self) -> tuple[str, ...]:
        """The folder of its package."""
        spec = importlib.util.find_spec(self.package) if self.package else None
        if spec is None or spec.origin is None:
            return ()
        return (str(Path(spec.origin).parents[1]),)


HONEST: tuple[Program, ...] = (
    Program("a script prints and ends", "print('hello')", "hello\n"),
    Program(
        "threads run side by side",
        """\
import threading
seen = []
threads = [threading.Thread(target=seen.append, args=(n,)) for n in range(20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(seen) == [*range(20)])
""",
        "True\n",
    ),
    Program(
        "forty threads wait for each other",
        """\
import threading
barrier = threading.Barrier(40, timeout=20)
threads = [threading.Thread(target=barrier.wait) for _ in range(40)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(barrier.broken)
""",
        "False\n",
    ),
    Program(
        "a pool of threads maps",
        """\
from concurrent.futures import ThreadPoolExecutor, as_completed
with ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(lambda n: n * n, range(100))))
    print(sorted(future.result() for future in as_completed([pool.submit(abs, -1)])))
""",
        "328350\n[1]\n",
    ),
    Program(
        "queues, locks, events and conditions pass work",
        """\
import queue, threading
jobs, done = queue.Queue(2), queue.PriorityQueue()
def work():
    while (job := jobs.get()) is not None:
        done.put(-job)
worker = threading.Thread(target=work)
worker.start()
for job in (1, 3, 2, None): jobs.put(job)
worker.join(10)
condition = threading.Condition()
with condition: print(condition.wait(0.01), [done.get() for _ in range(3)])
local = threading.local()
local.value = 1
print(local.value, threading.Semaphore(2).acquire(timeout=1), threading.current_thread().name)
""",
        "False [-3, -2, -1]\n1 True MainThread\n",
    ),
    Program(
        "asyncio runs tasks and threads",
        """\
import asyncio
async def main():
    print(await asyncio.gather(asyncio.to_thread(int, "7"), asyncio.sleep(0.01, 8)))
asyncio.run(main())
""",
        "[7, 8]\n",
    ),
    Program(
        "asyncio has time limits, queues, groups and locks",
        """\
import asyncio
async def worker(queue, out):
    while True:
        out.append(await queue.get())
        queue.task_done()
async def main():
    queue, out = asyncio.Queue(), []
    task = asyncio.create_task(worker(queue, out))
    for n in range(3): queue.put_nowait(n)
    await queue.join()
    task.cancel()
    try:
        async with asyncio.timeout(0.01): await asyncio.Event().wait()
    except TimeoutError:
        out.append("late")
    async with asyncio.TaskGroup() as group:
        one = group.create_task(asyncio.sleep(0, "one"))
    async with asyncio.Lock(): print(out, one.result())
asyncio.run(main())
""",
        "[0, 1, 2, 'late'] one\n",
    ),
    Program(
        "sqlite3 answers from memory",
        """\
import sqlite3
with sqlite3.connect(":memory:") as db:
    db.execute("create table t (a integer, b text)")
    db.executemany("insert into t values (?, ?)", [(1, "x"), (2, "y"), (3, "x")])
    print(db.execute("select b, sum(a) from t group by b order by b").fetchall())
db.close()
""",
        "[('x', 4), ('y', 2)]\n",
    ),
    Program(
        "sqlite3 keeps rows in a file",
        """\
import sqlite3
db = sqlite3.connect("rows.db")
with db:
    db.execute("create table t (a)")
    db.execute("insert into t values (5)")
db.close()
db = sqlite3.connect("rows.db")
print(db.execute("select a from t").fetchall())
db.close()
""",
        "[(5,)]\n",
        needs_files=True,
    ),
    Program(
        "tempfile makes files and folders",
        """\
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    with tempfile.NamedTemporaryFile("w+", dir=folder) as file:
        file.write("x")
        file.flush()
        print(os.path.getsize(file.name))
print(os.path.exists(folder))
with tempfile.TemporaryFile() as file, tempfile.SpooledTemporaryFile() as spooled:
    file.write(b"abc")
    spooled.write(b"abc")
    file.seek(0)
    print(file.read(), tempfile.gettempdir() == os.environ["TMPDIR"])
""",
        "1\nFalse\nb'abc' True\n",
        needs_files=True,
    ),
    Program(
        "pathlib writes, lists, renames and removes",
        """\
from pathlib import Path
folder = Path("a") / "b"
folder.mkdir(parents=True)
file = folder / "c.txt"
file.write_text("one\\ntwo\\n", encoding="utf-8")
with file.open("a") as more: more.write("three\\n")
print(file.read_text().split(), file.stat().st_size, file.suffix, file.resolve().name)
moved = file.rename(folder / "d.txt")
print([str(path) for path in sorted(Path("a").rglob("*"))], Path.home() == Path.cwd())
moved.unlink()
folder.rmdir()
print(folder.exists(), Path("a").is_dir())
""",
        "['one', 'two', 'three'] 14 .txt c.txt\n['a/b', 'a/b/d.txt'] True\nFalse True\n",
        needs_files=True,
    ),
    Program(
        "shutil moves and removes trees",
        """\
import os, shutil
os.makedirs("from/inner")
with open("from/inner/file", "w") as file: file.write("text")
shutil.copyfile("from/inner/file", "copy")
shutil.move("copy", "from/moved")
shutil.move("from", "to")
print(sorted(os.listdir("to")), os.path.exists("from"), open("to/inner/file").read())
print([sorted(names) for _, _, names in os.walk("to")])
shutil.rmtree("to")
print(os.path.exists("to"), shutil.disk_usage(".").total > 0)
""",
        "['inner', 'moved'] False text\n[['moved'], ['file']]\nFalse True\n",
        needs_files=True,
    ),
    Program(
        "shutil copies files and trees with their modes",
        """\
import os, shutil
os.makedirs("from/inner")
with open("from/inner/file", "w") as file: file.write("text")
shutil.copytree("from", "to")
shutil.copy("from/inner/file", "copy")
os.chmod("copy", 0o600)
print(open("to/inner/file").read(), oct(os.stat("copy").st_mode & 0o777))
""",
        "text 0o600\n",
        needs_files=True,
        needs_modes=True,
    ),
    Program(
        "a file is read back as it was written, in text and in bytes",
        """\
import glob, os
with open("lines", "w", newline="") as file: file.writelines(f"{n}\\r\\n" for n in range(3))
with open("lines", "rb") as file:
    file.seek(-3, os.SEEK_END)
    print(file.read(), file.tell())
with open("lines") as file: print([line.strip() for line in file], glob.glob("li*"))
with open("lines", "r+") as file: file.truncate(1)
print(os.stat("lines").st_size, os.access("lines", os.R_OK), os.path.isfile("none"))
""",
        "b'2\\r\\n' 9\n['0', '1', '2'] ['lines']\n1 True False\n",
        needs_files=True,
    ),
    Program(
        "csv and json are read from text",
        """\
import csv, io, json
rows = list(csv.DictReader(io.StringIO("name,n\\nżó,1\\n\\"a,b\\",2\\n")))
print(json.dumps(rows, ensure_ascii=False), json.loads("[1.5, null, true, {}]"))
out = io.StringIO()
csv.writer(out).writerow(["x", 'quo"te', 3])
print(out.getvalue().strip())
try:
    json.loads("{")
except json.JSONDecodeError as error:
    print(error.pos)
""",
        '[{"name": "żó", "n": "1"}, {"name": "a,b", "n": "2"}] [1.5, None, True, {}]\n'
        'x,"quo""te",3\n1\n',
    ),
    Program(
        "pickle takes values and objects apart and back",
        """\
import copy, pickle
from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int
value = {"points": [Point(1, 2)], "set": {1}, "bytes": b"x"}
print(pickle.loads(pickle.dumps(value)) == value, copy.deepcopy(value) == value)
print(copy.copy(value)["set"] is value["set"])
""",
        "True True\nTrue\n",
    ),
    Program(
        "decimals and fractions are exact",
        """\
from decimal import Decimal, getcontext
from fractions import Fraction
print(Decimal("0.1") + Decimal("0.2"), Fraction(1, 3) + Fraction(1, 6))
getcontext().prec = 30
print(Decimal(2).sqrt(), Fraction("0.125"))
""",
        "0.3 1/2\n1.41421356237309504880168872421 1/8\n",
    ),
    Program(
        "dataclasses, enums, named tuples and abstract classes are defined",
        """\
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
""",
        "9 {'side': 1, 'tags': []} True\n"
        "Colour.RED 3 {'a': 1, 'b': 2} {'name': <class 'str'>}\nTrue\n",
    ),
    Program(
        "context managers nest and suppress",
        """\
from contextlib import ExitStack, closing, contextmanager, redirect_stdout, suppress
import io
@contextmanager
def tag(name):
    print("<" + name)
    try:
        yield name
    finally:
        print(name + ">")
with suppress(KeyError), ExitStack() as stack:
    stack.enter_context(tag("a"))
    stack.enter_context(tag("b"))
    {}["missing"]
with redirect_stdout(io.StringIO()) as out: print("hidden")
with closing(io.StringIO("x")) as file: print(file.read(), out.getvalue().strip())
""",
        "<a\n<b\nb>\na>\nx hidden\n",
    ),
    Program(
        "generators send, throw, delegate and close",
        """\
def inner():
    total = 0
    while True:
        try:
            total += yield total
        except ValueError:
            return total
def outer():
    print("got", (yield from inner()))
    yield "end"
one = outer()
print(next(one), one.send(5), one.send(6), one.throw(ValueError), one.close())
async def ticks():
    for n in range(3): yield n
async def main(): return [n async for n in ticks() if n]
import asyncio
print(asyncio.run(main()))
""",
        "got 11\n0 5 11 end None\n[1, 2]\n",
    ),
    Program(
        "functools, itertools and operator compose",
        """\
import functools, itertools, operator
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
@functools.singledispatch
def kind(value): return "any"
@kind.register
def _(value: int): return "int"
print(fib(90), kind(1), kind(""), functools.reduce(operator.mul, range(1, 6)))
print([*itertools.accumulate([1, 2, 3])], [*itertools.combinations("abc", 2)][-1])
print({key: len([*group]) for key, group in itertools.groupby("aabbb")})
print(functools.partial(int, base=2)("101"), [*itertools.pairwise("abc")], fib.cache_info().hits)
""",
        "2880067194370816120 int any 120\n[1, 3, 6] ('b', 'c')\n{'a': 2, 'b': 3}\n"
        "5 [('a', 'b'), ('b', 'c')] 88\n",
    ),
    Program(
        "regular expressions find and replace",
        """\
import re
print(re.findall(r"(?P<word>\\w+)@(\\w+)", "ann@home bob@work"), re.sub(r"\\d+", "#", "a1b22"))
match = re.compile(r"(?ix) (\\d{4}) - (\\d\\d) # a date").search("on 2024-05")
print(match.groups(), match.span(), re.split(r"[,;]\\s*", "a, b;c"), re.escape("a.b"))
""",
        "[('ann', 'home'), ('bob', 'work')] a#b#\n('2024', '05') (3, 10) ['a', 'b', 'c'] a\\.b\n",
    ),
    Program(
        "dates and calendars are reckoned",
        """\
import calendar, time
from datetime import date, datetime, timedelta, timezone
moment = datetime(2024, 2, 28, 23, 30, tzinfo=timezone.utc)
print((moment + timedelta(hours=1)).isoformat(), date(2024, 12, 30).isocalendar().week)
print(moment.astimezone(timezone(timedelta(hours=5, minutes=30))).strftime("%d %b %Y %H:%M %z"))
print(datetime.strptime("2024-02-29", "%Y-%m-%d").weekday(), calendar.isleap(1900))
print(time.strftime("%Y", time.gmtime(0)), datetime.now().year > 2020)
""",
        "2024-02-29T00:30:00+00:00 1\n29 Feb 2024 05:00 +0530\n3 False\n1970 True\n",
    ),
    Program(
        "time zones are looked up",
        """\
from datetime import datetime
from zoneinfo import ZoneInfo
print(datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Paris")).isoformat())
""",
        "2024-07-01T12:00:00+02:00\n",
        needs_files=True,
        path="/usr/share/zoneinfo/Europe/Paris",
    ),
    Program(
        "numbers and text are formatted",
        """\
import locale, string, textwrap
print(f"{1234567.891:,.2f} {255:#x} {0.25:.0%} {'mid':^9}| {3!r:>4} {1e100:g}")
print(string.Template("$who has $$${n}").substitute(who="Ann", n=3), "{0[a]}".format({"a": 1}))
print(textwrap.fill("the quick brown fox", 10), textwrap.dedent("  a\\n   b"), sep="\\n")
print(locale.setlocale(locale.LC_ALL, "C"), "%05.1f|%-4s|" % (3.14159, "x"), "ß".upper())
""",
        "1,234,567.89 0xff 25%    mid   |    3 1e+100\nAnn has $3 1\nthe quick\nbrown fox\na\n b\n"
        "C 003.1|x   | SS\n",
    ),
    Program(
        "logging writes to its handlers",
        """\
import io, logging
stream = io.StringIO()
logging.basicConfig(stream=stream, level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
log = logging.getLogger("app")
log.info("value %d", 5)
log.debug("hidden")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("caught")
lines = stream.getvalue().splitlines()
print(lines[0], lines[1], lines[-1], sep="\\n")
""",
        "INFO app value 5\nERROR app caught\nZeroDivisionError: division by zero\n",
    ),
    Program(
        "argparse reads the script's arguments",
        """\
import argparse, sys
parser = argparse.ArgumentParser()
parser.add_argument("names", nargs="+")
parser.add_argument("--times", type=int, default=1)
chosen = parser.parse_args()
print(chosen.names, chosen.times, len(sys.argv))
""",
        "['ann', 'zoë'] 3 5\n",
        arguments=("ann", "zoë", "--times", "3"),
    ),
    Program(
        "too deep a recursion raises, a raised limit is honoured",
        """\
import sys
def depth(n):
    return n and 1 + depth(n - 1)
print(depth(900))
try:
    depth(10**6)
except RecursionError:
    print("stopped")
sys.setrecursionlimit(20_000)
print(depth(10_000))
""",
        "900\nstopped\n10000\n",
    ),
    Program(
        "a thread with a larger stack recurses deeper",
        """\
import sys, threading
sys.setrecursionlimit(60_000)
threading.stack_size(64 << 20)
def depth(n):
    return n and 1 + depth(n - 1)
thread = threading.Thread(target=lambda: print(depth(50_000)))
thread.start()
thread.join()
""",
        "50000\n",
    ),
    Program(
        "text of every kind is printed, a lone surrogate as an escape",
        "print('\u017c\u00f3\u0142\u0107 \u6f22\u5b57 \U0001f642', '\\ud800')",
        "\u017c\u00f3\u0142\u0107 \u6f22\u5b57 \U0001f642 \\ud800\n",
    ),
    Program(
        "text is normalised, named and encoded",
        """\
import codecs, unicodedata
print(unicodedata.normalize("NFD", "é") == "e\\u0301", unicodedata.name("ł"), "ŻÓŁĆ".casefold())
print("żó".encode("utf-16-le"), b"\\xbf".decode("iso-8859-2"), "\\N{SNOWMAN}", ascii("é"))
print(codecs.encode("abc", "rot13"), "x".encode("idna"), b"\\xff".decode("utf-8", "replace"))
""",
        "True LATIN SMALL LETTER L WITH STROKE żółć\nb'|\\x01\\xf3\\x00' ż ☃ '\\xe9'\n"
        "nop b'x' \ufffd\n",
    ),
    Program(
        "a list of forty million fits the default memory",
        "print(len([0] * 40_000_000))", "40000000\n",
    ),
    Program(
        "standard input is read to its end, and then ends",
        """\
import sys
print(input(), ascii(sys.stdin.read()))
try:
    input()
except EOFError:
    print("end")
""",
        "first 'second \\ud800'\nend\n",
        stdin="first\nsecond \ud800",
    ),
    Program(
        "standard input is read as bytes, by lines, and by other modules",
        """\
import fileinput, sys
print(sys.stdin.buffer.readline(), sys.stdin.readline().strip(), sys.stdin.isatty())
print(sum(int(line) for line in fileinput.input()))
""",
        "b'one\\n' two False\n4950\n",
        stdin="one\ntwo\n" + "".join(f"{number}\n" for number in range(100)),
    ),
    Program(
        "without standard input it ends at once",
        "try:\n    input()\nexcept EOFError:\n    print('end')", "end\n",
    ),
    Program(
        "output is written in each way there is",
        """\
import os, sys
print("a", "b", sep="-", end="!\\n")
sys.stdout.write("text\\n")
sys.stdout.flush()
sys.stdout.buffer.write(b"bytes\\n")
sys.stdout.buffer.flush()
os.write(1, b"raw\\n")
print("x" * 100_000 == "", file=sys.stdout)
""",
        "a-b!\ntext\nbytes\nraw\nFalse\n",
    ),
    Program(
        "bytes, structs, arrays and views share memory",
        """\
import array, struct
data = bytearray(struct.pack("<Ihd", 7, -1, 0.5))
view = memoryview(data)
view[0:4] = (8).to_bytes(4, "little")
print(struct.unpack("<Ihd", data), view.nbytes, bytes(view[:2]).hex())
numbers = array.array("d", [1, 2, 3])
numbers.extend([4.5])
print(sum(numbers), numbers.itemsize, bytes.fromhex("00ff"), int.from_bytes(b"\\1\\0", "big"))
""",
        "(8, -1, 0.5) 14 0800\n10.5 8 b'\\x00\\xff' 256\n",
    ),
    Program(
        "hashes, codes and identifiers are made",
        """\
import base64, binascii, hashlib, hmac, secrets, uuid, zlib
print(hashlib.sha256(b"x").hexdigest()[:16], hashlib.md5(b"x").hexdigest()[:8])
print(hmac.new(b"key", b"x", "sha1").hexdigest()[:8], hmac.compare_digest("a", "a"))
print(base64.b64encode(b"\\xff\\0"), base64.urlsafe_b64decode("_w=="), binascii.crc32(b"x"))
print(len(secrets.token_hex(8)), uuid.uuid4().version, zlib.adler32(b"x"))
print(uuid.uuid5(uuid.NAMESPACE_DNS, "a"), hashlib.blake2b(b"x", digest_size=4).hexdigest())
print(hashlib.pbkdf2_hmac("sha256", b"x", b"salt", 10).hex()[:8])
""",
        "2d711642b726b044 9dd4e461\n2a00e8e8 True\nb'/wA=' b'\\xff' 2363233923\n16 4 7929977\n"
        "4f3f2898-69e3-5a0d-820a-c4e87987dbce b1ba07e5\nb31b6680\n",
    ),
    Program(
        "chance is seeded, and not alike otherwise",
        """\
import random
random.seed(5)
print(random.randint(1, 100), random.sample(range(9), 3), random.choice("abc"))
one = random.Random(1)
print(one.random() == random.Random(1).random(), random.SystemRandom().random() < 1)
print(len({random.Random().random() for _ in range(5)}))
""",
        "80 [4, 5, 6] c\nTrue True\n5\n",
    ),
    Program(
        "statistics and mathematics are right",
        """\
import cmath, math, statistics
print(statistics.mean([1, 2, 4]), statistics.median([3, 1, 2]), statistics.stdev([1, 2, 3]))
print(math.comb(50, 25), math.isclose(math.pi, 22 / 7, rel_tol=1e-3), math.gcd(12, 18))
print(math.fsum([0.1] * 10), cmath.sqrt(-4), math.inf > 1e308, math.isqrt(10**20), 7**-1 % 3)
print(round(math.gamma(5)), pow(3, -1, 11), divmod(-7, 2), (0.1 + 0.2).hex())
""",
        "2.3333333333333335 2 1.0\n126410606437752 True 6\n1.0 2j True 10000000000 "
        "0.14285714285714285\n24 4 (-4, 1) 0x1.3333333333334p-2\n",
    ),
    Program(
        "heaps, bisection and collections keep their order",
        """\
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
""",
        "[0, 1, 4, 5] [9, 5]\n1 [('l', 2)]\n[4, 2, 3] {'a': [1]} ['b', 'a'] 3\n",
    ),
    Program(
        "what nobody holds is collected",
        """\
import gc, sys, weakref
class Node: pass
one, other = Node(), Node()
one.other, other.other = other, one
gone = weakref.ref(one)
weakref.finalize(one, print, "finalized")
kept = weakref.WeakValueDictionary(other=other)
del one, other
gc.collect()
print(gone(), len(kept), gc.isenabled(), sys.getrefcount(object()) > 0)
""",
        "finalized\nNone 0 True True\n",
    ),
    Program(
        "tracebacks and warnings are told",
        """\
import sys, traceback, warnings
def fail(): raise ValueError("why") from KeyError("cause")
try:
    fail()
except ValueError as error:
    told = traceback.format_exc()
    print("direct cause" in told, traceback.extract_tb(error.__traceback__)[-1].name)
    error.add_note("noted")
    print(traceback.format_exception(error)[-1].strip(), sys.exc_info()[0].__name__)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    warnings.warn("careful", DeprecationWarning)
print(seen[0].category.__name__, str(seen[0].message))
try:
    raise ExceptionGroup("several", [ValueError(1), TypeError(2)])
except* TypeError as group:
    print("types", group.exceptions)
except* ValueError as group:
    print("values", group.exceptions)
""",
        "True fail\nnoted ValueError\nDeprecationWarning careful\ntypes (TypeError(2),)\n"
        "values (ValueError(1),)\n",
    ),
    Program(
        "a script reads its own source",
        """\
import ast, inspect
def doubled(n):
    return 2 * n
print(inspect.getsource(doubled).strip(), inspect.signature(doubled), sep="\\n")
print(open(__file__).read().count("doubled"), type(ast.parse("1 + 1").body[0]).__name__)
""",
        "def doubled(n):\n    return 2 * n\n(n)\n4 Expr\n",
        needs_files=True,
    ),
    Program(
        "code is compiled, evaluated and taken apart",
        """\
import ast, dis, io, tokenize, types
code = compile("x = [n * n for n in range(4)]", "<made>", "exec")
names = {}
exec(code, names)
print(names["x"], eval("sum(x)", names), ast.unparse(ast.parse("a  =  1;b=2")))
print(types.FunctionType(compile("5", "", "eval"), {})(), "RETURN" in dis.Bytecode("1").dis())
print([token.string for token in tokenize.generate_tokens(io.StringIO("a+1").readline)][:3])
print(type("Made", (), {"value": 3})().value, isinstance(code, types.CodeType))
""",
        "[0, 1, 4, 9] 14 a = 1\nb = 2\n5 True\n['a', '+', '1']\n3 True\n",
    ),
    Program(
        "a package of several files imports within itself",
        """\
import importlib
import shapes.square
from shapes import Circle, area
module = importlib.import_module("shapes.inner.deep")
print(shapes.square.Square(3).area(), area(Circle(1)), module.WHERE, shapes.inner.deep is module)
""",
        "9 3 shapes.inner.deep up True\n",
        files={
            "shapes/__init__.py": "from .circle import Circle\nfrom .tools import area\n",
            "shapes/circle.py": "from . import tools\n"
            "class Circle:\n    def __init__(self, r): self.r = r\n"
            "    def area(self): return tools.PI * self.r ** 2\n",
            "shapes/square.py": "class Square:\n    def __init__(self, a): self.a = a\n"
            "    def area(self): return self.a ** 2\n",
            "shapes/tools.py": "PI = 3\ndef area(shape): return shape.area()\n",
            "shapes/inner/__init__.py": "",
            "shapes/inner/deep.py": "from ..tools import PI\nWHERE = __name__ + ' up'\n",
        },
    ),
    Program(
        "unittest runs the tests of a script",
        """\
import io, sys, unittest
from unittest import mock
class Tests(unittest.TestCase):
    def setUp(self): self.value = 2
    def test_sum(self): self.assertEqual(self.value + 2, 4)
    def test_error(self):
        with self.assertRaisesRegex(ValueError, "invalid"): int("x")
    @unittest.expectedFailure
    def test_wrong(self): self.assertIn(1, [])
    def test_mock(self):
        with mock.patch("os.getcwd", return_value="there") as patched:
            import os
            self.assertEqual(os.getcwd(), "there")
        patched.assert_called_once_with()
if __name__ == "__main__":
    runner = unittest.TextTestRunner(stream=io.StringIO())
    result = unittest.main(argv=[""], exit=False, testRunner=runner).result
    print(result.testsRun, result.wasSuccessful(), len(result.expectedFailures))
""",
        "4 True 1\n",
    ),
    Program(
        "doctests of a script are run",
        """\
def double(n):
    '''Twice as much.

    >>> double(2)
    4
    >>> double("x")
    'xx'
    '''
    return n * 2
import doctest
print(doctest.testmod())
""",
        "TestResults(failed=0, attempted=2)\n",
    ),
    Program(
        "archives are packed and unpacked in memory",
        """\
import bz2, gzip, io, lzma, tarfile, zipfile, zlib
text = b"again and " * 100
for one in (bz2, gzip, lzma, zlib):
    packed = one.compress(text)
    print(one.__name__, len(packed) < 150, one.decompress(packed) == text)
store = io.BytesIO()
with zipfile.ZipFile(store, "w", zipfile.ZIP_DEFLATED) as archive: archive.writestr("a/b", text)
with zipfile.ZipFile(store) as archive: print(archive.namelist(), archive.read("a/b") == text)
store = io.BytesIO()
with tarfile.open(fileobj=store, mode="w:gz") as archive:
    member = tarfile.TarInfo("c")
    member.size = len(text)
    archive.addfile(member, io.BytesIO(text))
store.seek(0)
with tarfile.open(fileobj=store) as archive: print(archive.getnames())
""",
        "bz2 True True\ngzip True True\nlzma True True\nzlib True True\n['a/b'] True\n['c']\n",
    ),
    Program(
        "addresses, markup and settings are parsed",
        """\
import configparser, email.message, html, html.parser, tomllib, urllib.parse
import xml.etree.ElementTree as tree
parts = urllib.parse.urlsplit("https://a.b:8/c?d=1&d=2#e")
print(parts.hostname, parts.port, urllib.parse.parse_qs(parts.query), urllib.parse.quote("a é"))
print(html.escape("<&>"), html.unescape("&eacute;"), tomllib.loads("a = [1]\\n[b]\\nc = 'd'"))
root = tree.fromstring("<r><i n='1'>x</i><i n='2'/></r>")
print([item.get("n") for item in root.iter("i")], tree.tostring(root[0]))
settings = configparser.ConfigParser()
settings.read_string("[part]\\nkey = 5\\n")
print(settings["part"].getint("key"))
class Finder(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs): print(tag, attrs)
Finder().feed("<a href='x'>y</a>")
message = email.message.EmailMessage()
message["Subject"] = "hello"
print(message.as_string().strip())
""",
        "a.b 8 {'d': ['1', '2']} a%20%C3%A9\n&lt;&amp;&gt; é {'a': [1], 'b': {'c': 'd'}}\n"
        "['1', '2'] b'<i n=\"1\">x</i>'\n5\na [('href', 'x')]\nSubject: hello\n",
    ),
    Program(
        "a script handles its own signals and alarms",
        """\
import os, signal, time
seen = []
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(signal.Signals(number).name))
signal.signal(signal.SIGALRM, lambda number, frame: seen.append("alarm"))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
signal.setitimer(signal.ITIMER_REAL, 0.01)
time.sleep(0.2)
print(seen, signal.alarm(0))
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
""",
        "['SIGUSR1', 'SIGUSR1', 'alarm'] 0\ninterrupted\n",
    ),
    Program(
        "time passes and is measured",
        """\
import time, timeit, sched
start, began = time.perf_counter(), time.monotonic()
time.sleep(0.02)
print(0.02 <= time.perf_counter() - start < 5, time.monotonic() > began, time.time_ns() > 10**18)
print(timeit.timeit("1 + 1", number=10) < 1, time.process_time() >= 0, time.thread_time() >= 0)
plan = sched.scheduler(time.monotonic, time.sleep)
plan.enter(0.01, 1, print, ("planned",))
plan.run()
""",
        "True True True\nTrue True True\nplanned\n",
    ),
    Program(
        "pipes are written, watched and read",
        """\
import os, select, selectors
reader, writer = os.pipe()
with selectors.DefaultSelector() as selector:
    selector.register(reader, selectors.EVENT_READ, "data")
    print(selector.select(0))
    os.write(writer, b"abc")
    print([key.data for key, _ in selector.select(1)], select.select([reader], [], [], 1)[0] != [])
os.close(writer)
with os.fdopen(reader, "rb") as file: print(file.read())
poll = select.poll()
""",
        "[]\n['data'] True\nb'abc'\n",
    ),
    Program(
        "two ends of a pair of sockets talk",
        """\
import socket, threading
one, other = socket.socketpair()
with one, other:
    one.settimeout(5)
    one.sendall(b"ping")
    print(other.recv(10))
    thread = threading.Thread(target=other.sendall, args=(b"x" * 1_000_000,))
    thread.start()
    received = 0
    while received < 1_000_000: received += len(one.recv(65536))
    thread.join()
print(received)
""",
        "b'ping'\n1000000\n",
    ),
    Program(
        "memory is mapped, and C is called",
        """\
import ctypes, mmap
with mmap.mmap(-1, 8192) as memory:
    memory[:5] = b"hello"
    print(memory.find(b"lo"), len(memory), memory.read(5))
library = ctypes.CDLL(None)
library.strlen.restype = ctypes.c_size_t
print(library.strlen(b"four"), library.abs(-3), ctypes.sizeof(ctypes.c_long))
class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]
ordered = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 4)(3, 1, 4, 2)
library.qsort(numbers, 4, 4, ordered(lambda a, b: a[0] - b[0]))
print([*numbers], Point(1, 2).y, ctypes.string_at(ctypes.create_string_buffer(b"ab")))
""",
        "3 8192 b'hello'\n4 3 8\n[1, 2, 3, 4] 2 b'ab'\n",
    ),
    Program(
        "variables follow their context",
        """\
import asyncio, contextvars
name = contextvars.ContextVar("name", default="none")
async def told(value):
    name.set(value)
    await asyncio.sleep(0.01)
    return name.get()
async def main(): return await asyncio.gather(told("a"), told("b"))
print(asyncio.run(main()), name.get(), contextvars.copy_context().run(name.set, "x") is not None)
""",
        "['a', 'b'] none True\n",
    ),
    Program(
        "classes bend as far as Python lets them",
        """\
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
""",
        "field missingmissing field {'option': 1} ('@', 1) Base\nmatched 1 2\n",
    ),
    Program(
        "a long calculation ends in time",
        """\
def primes(limit):
    sieve = bytearray([1]) * limit
    for n in range(2, int(limit ** 0.5) + 1):
        if sieve[n]: sieve[n * n :: n] = bytes(len(range(n * n, limit, n)))
    return sum(sieve) - 2
print(primes(2_000_000), (3 ** 100_000) % 997, sum(n * n % 7 for n in range(500_000)))
""",
        "148933 12 999999\n",
    ),
    Program(
        "the surroundings are asked after",
        """\
import os, platform, resource, sys, sysconfig
print(sys.version_info >= (3, 11), platform.system() in ("Linux", "Darwin"), os.cpu_count() > 0)
print(os.getpid() > 0, os.getcwd() == os.environ["HOME"], sys.getsizeof(1) > 0, os.sep)
print(sys.stdin.encoding, sys.stdout.encoding, sys.getfilesystemencoding(), os.getenv("NONE", "-"))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0, "re" in sys.stdlib_module_names)
""",
        "True True True\nTrue True True /\nutf-8 utf-8 utf-8 -\nTrue True\n",
    ),
    Program(
        "a hash depends on the job's seed alone",
        "print(hash('a') == hash('a'), __import__('os').environ['PYTHONHASHSEED'])", "True 0\n",
    ),
    Program(
        "what a program registered is done at its end",
        """\
import atexit, threading, time
said = threading.Event()
def work():
    said.wait()
    time.sleep(0.05)
    print("thread")
atexit.register(print, "at exit")
threading.Thread(target=work).start()
print("main")
said.set()
""",
        "main\nthread\nat exit\n",
    ),
    Program(
        "numpy calculates",
        """\
import numpy
grid = numpy.arange(12.0).reshape(3, 4)
print((grid @ grid.T).trace(), numpy.linalg.det(numpy.eye(3) * 2), grid.mean(axis=0).tolist())
print(numpy.random.default_rng(0).integers(0, 10, 3).tolist(), numpy.sort([3, 1, 2]))
""",
        "506.0 7.999999999999998 [4.0, 5.0, 6.0, 7.0]\n[8, 6, 5] [1 2 3]\n",
        needs_files=True,
        package="numpy",
    ),
    Program(
        "pandas groups a table",
        """\
import io, pandas
table = pandas.read_csv(io.StringIO("who,n\\na,1\\nb,2\\na,3\\n"))
print(table.groupby("who")["n"].sum().to_dict(), table.describe().loc["mean", "n"])
""",
        "{'a': 4, 'b': 2} 2.0\n",
        needs_files=True,
        package="pandas",
    ),
    *(
        Program(
            claim, honest_tests.MAIN, honest_tests.passes(tests), files={"test_it.py": tests},
            needs_files=True, needs_modes=modes, package="pytest",
        )
        for claim, tests, modes in (
            ("pytest runs tests of many kinds in one process", honest_tests.PLAIN, False),
            ("pytest runs tests that change modes and times", honest_tests.WITH_MODES, True),
        )
    ),
    Program(
        "a script runs other scripts and hears their output and end",
        """\
import asyncio, os, subprocess, sys
print(subprocess.run(["python3", "other.py", "x"], capture_output=True, text=True, check=True))
print(subprocess.check_output(["python3", "-c", "import theirs; print(theirs.VALUE)"]))
print(subprocess.run([sys.executable, "-c", "exit(3)"], env={}).returncode)
async def main():
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "print(input())", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return (await process.communicate(b"hello"))[0], process.returncode
print(asyncio.run(main()))
slow = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
slow.terminate()
print(slow.wait())
try:
    subprocess.run([sys.executable, "-c", "while True: pass"], timeout=0.5)
except subprocess.TimeoutExpired:
    print("late")
""",
        "CompletedProcess(args=['python3', 'other.py', 'x'], returncode=0, "
        "stdout=\"['other.py', 'x']\\n\", stderr='')\nb'5\\n'\n3\n(b'hello\\n', 0)\n-15\nlate\n",
        files={"other.py": "import sys\nprint(sys.argv)\n", "theirs.py": "VALUE = 5\n"},
        needs_files=True,
        processes=True,
    ),
    Program(
        "a script forks, and its copies talk through pipes",
        """\
import os, signal
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.write(writer, b"from the child")
    os._exit(3)
print(os.read(reader, 99), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
child = os.fork()
if child == 0: signal.pause()
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.wait()[1]), os.getppid() != os.getpid())
""",
        "b'from the child' 3\n-15 True\n",
        processes=True,
    ),
    Program(
        "pools, queues and locks of multiprocessing span processes",
        """\
import multiprocessing, theirs
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.shared_memory import SharedMemory
def put(queue, lock, value):
    with lock: value.value += 1
    queue.put("put")
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2, 3]))
    with ProcessPoolExecutor(2) as pool: print([*pool.map(theirs.double, [1, 2])])
    queue, lock, value = multiprocessing.Queue(), multiprocessing.Lock(), multiprocessing.Value("i")
    process = multiprocessing.Process(target=put, args=(queue, lock, value))
    process.start()
    print(queue.get(timeout=10), process.join(10), process.exitcode, value.value)
    spawned = multiprocessing.get_context("spawn")
    lock = spawned.Lock()
    process = spawned.Process(target=theirs.hold, args=(lock,))
    process.start()
    print(process.join(20), process.exitcode)
    memory = SharedMemory(create=True, size=8)
    memory.buf[0] = 7
    print(memory.buf[0])
    memory.close()
    memory.unlink()
""",
        "[1, 2, 3]\n[2, 4]\nput None 0 1\nNone 0\n7\n",
        files={
            "theirs.py": "def double(n): return 2 * n\ndef hold(lock):\n    with lock: pass\n",
        },
        needs_files=True,
        processes=True,
    ),
    Program(
        "a script serves itself over a network of its own",
        """\
import asyncio, http.server, socket, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.encode())
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever).start()
for host in ("127.0.0.1", "localhost"):
    with urllib.request.urlopen(f"http://{host}:{server.server_port}/path") as answer:
        print(answer.status, answer.read())
server.shutdown()
server.server_close()
async def main():
    async def answer(reader, writer):
        writer.write((await reader.readline()).upper())
        writer.close()
    async with await asyncio.start_server(answer, "localhost", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer.write(b"line\\n")
        line = await reader.read()
        writer.close()
        return line
print(asyncio.run(main()))
one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
one.bind(("127.0.0.1", 0))
other.sendto(b"datagram", one.getsockname())
print(one.recvfrom(99)[0])
one.close()
other.close()
""",
        "200 b'/path'\n200 b'/path'\nb'LINE\\n'\nb'datagram'\n",
        needs_files=True,
        loopback=True,
    ),
)
