"""The tools of a debugger, on programs that run in the jail."""

from __future__ import annotations

from typing import Any

from agent.core.domain import Example, File, Report, Solution, Task, Verdict
from agent.tools.code_sandbox import configured_sandbox
from agent.tools.debugging import DebuggerTools, DebugScope
from agent.tools.registry import ToolRegistry

CODE = '''import helper


class Box:
    def size(self, more=1):
        """How large it is."""
        return helper.one() + more


def count(words):
    """Counts letters."""
    n = 0
    for word in words:
        n += len(word)
    return n


def use(words):
    return count(words) + Box().size()


def forever():
    i = 0
    while True:
        i = i + 1
'''
HELPER = File(path="helper.py", text="def one():\n    return 1\n")
SHOWN = Example(name="count(['a']) == 2", origin="user", call="count(['a'])", expected="2")
FAILS = Verdict(
    name=SHOWN.name, test=SHOWN.name, origin="user", status="failed", got="1", message="1 != 2"
)


def tools(code: str = CODE, root: str = "", helper: File = HELPER) -> ToolRegistry:
    path = f"{root}main.py"
    program = Solution(files=(File(path=path, text=code),), entry=path)
    other = program.with_text(code.replace("n = 0", "n = 1"))
    registry = ToolRegistry(max_output_bytes=4_000)
    DebuggerTools(DebugScope(
        task=Task(support=(helper,)), solution=program, tests=(SHOWN,),
        report=Report(solution=program.id, verdicts=(FAILS,)), programs={0: program, 2: other},
        lessons=lambda words: [f"mind {words}"], import_roots=("", root.rstrip("/")),
    ), configured_sandbox(), snippet_s=1.0).register(registry)
    return registry


async def given(tool: str, registry: ToolRegistry | None = None, /, **arguments: Any) -> Any:
    found = await (registry or tools()).call(tool, arguments)
    return found.output if found.ok else found.error


async def test_a_snippet_runs_with_the_program_loaded_and_its_last_value_is_printed() -> None:
    ran = await given("run_snippet", code="x = count(['ab'])\nprint(x)\nx + 1")
    assert ran == {"stdout": "2\n3\n", "stderr": "", "error": ""}
    ran = await given("run_snippet", code="from solution import use\nfrom main import Box\nuse(1)")
    assert ran["error"] == "TypeError: 'int' object is not iterable"
    assert 'File "main.py", line 13, in count' in ran["stderr"]
    assert "/tmp" not in ran["stderr"]  # what it shows is the same in each run


async def test_what_is_wrong_with_a_snippet_is_something_to_see() -> None:
    assert (await given("run_snippet", code="forever()"))["error"] == "wall time 1 s"
    assert (await given("run_snippet", code="def ("))["error"].startswith("SyntaxError")
    assert (await given("run_snippet", code="raise SystemExit(3)"))["error"].endswith("code 3")
    broken = await given("run_snippet", tools("def f(:\n"), code="1")
    assert broken["error"].startswith("SyntaxError: invalid syntax (main.py, line 1)")
    loud = await given("run_snippet", code="while True: print('x' * 1_000)")
    assert len(str(loud)) < 4_200 and "output" in loud["error"]


async def test_a_call_is_followed_line_by_line() -> None:
    seen = await given("trace_call", call="use(['ab'])")
    assert seen == {"gives": "4", "lines": [
        "line 19: return count(words) + Box().size()    # words = ['ab']",
        "line 12: n = 0    # words = ['ab']",
        "line 13: for word in words:    # words = ['ab'], n = 0",
        "line 14: n += len(word)    # words = ['ab'], n = 0, word = 'ab'",
        "line 13: for word in words:    # words = ['ab'], n = 2, word = 'ab'",
        "line 15: return n    # words = ['ab'], n = 2, word = 'ab'",
        "line 7: return helper.one() + more    # more = 1",
    ]}
    raised = await given("trace_call", call="Box().size('a')")
    assert raised["ended"] == "TypeError: unsupported operand type(s) for +: 'int' and 'str'"
    assert raised["lines"] == ["line 7: return helper.one() + more    # more = 'a'"]


async def test_a_call_that_does_not_end_is_followed_for_a_while() -> None:
    seen = await given("trace_call", call="forever()")
    assert seen["ended"].startswith("TimeoutError")
    assert seen["lines"][-1] == "line 25: i = i + 1    # i = 4"
    many = "\n".join(f"    x = {number}" for number in range(200))
    seen = await given("trace_call", tools(f"def f():\n{many}\n"), call="f()")
    assert len(seen["lines"]) == 61 and "140" in seen["lines"][30]
    assert isinstance(await given("trace_call", call="x = 1"), str)


async def test_files_are_found_where_a_project_imports_them_from() -> None:
    registry = tools(root="src/", helper=HELPER.model_copy(update={"path": "src/helper.py"}))
    assert (await given("run_snippet", registry, code="use(['ab'])"))["stdout"] == "4\n"
    assert (await given("trace_call", registry, call="use(['ab'])"))["gives"] == "4"


async def test_functions_tests_programs_and_lessons_can_be_read() -> None:
    method = await given("inspect_function", name="Box.size")
    assert method == {
        "file": "main.py", "line": 5, "signature": "size(self, more=1)",
        "docstring": "How large it is.", "callers": ["main.py, line 19: Box().size()"],
        "source": '    def size(self, more=1):\n        """How large it is."""\n'
                  "        return helper.one() + more",
    }
    assert "count, use, forever, Box.size" in await given("inspect_function", name="x")
    shown = await given("show_test", name=SHOWN.name)
    assert shown["code"] == SHOWN.code and shown["verdicts"][0]["got"] == "1"
    assert SHOWN.name in await given("show_test", name="other")
    assert "-    n = 0\n+    n = 1\n" in await given("diff_iterations", first=0, second=2)
    assert "0, 2" in await given("diff_iterations", first=0, second=1)
    assert await given("search_memory", words="loops") == ["mind loops"]
