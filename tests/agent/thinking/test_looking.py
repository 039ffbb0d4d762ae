"""A debugger that looks around: what it is shown, and where it ends."""

from __future__ import annotations

import json

from agent.core.domain import File, Script, Solution, Task
from agent.core.events import Notice
from agent.core.state import Suite
from agent.thinking.looking import MOST_LOOKS, MOST_SEEN, looked_around, readable_files
from agent.tools.registry import ToolRegistry
from tests.agent.thinking.test_roles import context
from tests.llm.scripted import saying

ASKED = dict.fromkeys(("code", "task", "tests", "failures", "suspects"), "x")
FOUND = {"cause": "it adds", "category": "wrong_result", "lines": [2], "fixable": True,
         "confidence": 80}
ANSWER = json.dumps({**FOUND, "tool": "", "arguments": ""})


def look(tool: str, arguments: str) -> str:
    return json.dumps({**FOUND, "tool": tool, "arguments": arguments})


def shelf() -> ToolRegistry:
    tools = ToolRegistry()

    @tools.register
    def read(path: str, lines: int = 1) -> str:
        """Read a file."""
        if path == "none":
            raise FileNotFoundError(path)
        return f"{path} has {lines} lines" if path != "long" else "x" * 3 * MOST_SEEN

    return tools


async def seen_of(*said: str) -> tuple[str, list[str], list[str]]:
    """What is found at last, what each call has shown, and what a reader is told."""
    model = saying(*said)
    ctx, told = context(model)
    answer = await looked_around(ctx, ASKED, shelf(), without="")
    assert answer is not None
    shown = [request.messages[-1].text for request in model.asked]
    assert "read: Read a file." in shown[0]
    return answer.cause, shown[1:], [one.text for one in told if isinstance(one, Notice)]


async def test_what_a_tool_gives_is_seen_and_then_answered_by() -> None:
    cause, seen, told = await seen_of(look("read", '{"path": "a.py", "lines": 3}'), ANSWER)
    assert cause == "it adds"
    assert len(seen) == 1 and "\na.py has 3 lines\n</data" in seen[0]
    assert told == ['The debugger looks: read {"path": "a.py", "lines": 3}']


async def test_whatever_is_wrong_with_a_call_is_something_to_see() -> None:
    calls = (
        look("shell", "{}"), look("read", "{path}"), look("read", "[1]"),
        look("read", '{"lines": "many"}'), look("read", '{"path": "none"}'),
    )
    _, seen, _ = await seen_of(*calls, ANSWER)
    for shown, why in zip(seen, (
        "error: there is no tool 'shell'", "error: `arguments` is no JSON",
        "must be the text of a JSON object", "'many' is not of type 'integer'", "none",
    ), strict=True):
        assert why in shown and "error: " in shown


async def test_looking_ends_and_what_is_shown_is_bounded() -> None:
    cause, seen, _ = await seen_of(*[look("read", '{"path": "long"}')] * (MOST_LOOKS + 3))
    assert (cause, len(seen)) == ("it adds", MOST_LOOKS)
    assert max(map(len, seen)) < MOST_SEEN + 300
    assert "You may look 1 more" in seen[-2] and "You may look no more" in seen[-1]


def test_of_a_test_that_is_held_out_no_text_can_be_read() -> None:
    code = "def test_a():\n    assert f(1) == 2\n\n\ndef test_b():\n    assert f(5) == 6\n"
    rest = code[: code.index("def test_b")] + "\n\n"
    other = "def test_c():\n    assert f(7) == 8\n"

    def script(name: str, text: str, file: str) -> Script:
        return Script(name=name, origin="user", code=text, node=f"{file}::{name}", file=file)

    files = {"a.py": "def f(a):\n    return a\n", "test_a.py": code, "test_c.py": other}
    task = Task(support=tuple(File(path=path, text=text) for path, text in files.items()))
    program = Solution(files=(File(path="a.py", text="new"),), entry="a.py")
    suite = Suite(visible=(script("test_a", rest, "test_a.py"),), held_out=(
        script("test_b", code, "test_a.py"), script("test_c", other, "test_c.py"),
    ))
    found = readable_files(task, program, suite)
    assert (found["a.py"], found["test_a.py"]) == ("new", rest)
    assert "f(5)" not in str(found) and "f(7)" not in str(found)
