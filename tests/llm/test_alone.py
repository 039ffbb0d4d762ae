"""`llm` can be lifted out: it is used here in a folder by itself, and imports little."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = (
    "asyncio", "pydantic", "yaml", "jsonschema", "anthropic", "openai", "ollama", "httpx", "httpx2",
    "torch", "transformers", "llguidance", "opentelemetry", "sqlite3",
)

ALONE = '''
import asyncio, pkgutil, sys
for name in ("agent", "demo", "evaluation", "prompts", "sandbox", "app", "tests"):
    sys.modules[name] = None  # whoever imports it fails

import llm
from llm.asking.ask import ask_typed, complete_reply
from llm.budget import Caps, Ledger
from llm.prices import default_prices
from llm.router import Breaker, Router

assert llm.__file__.startswith(sys.argv[1]), llm.__file__
plan = llm.resolve({"ANTHROPIC_API_KEY": llm.Secret("k" * 9)}, {"poet": "write", "critic": "list"})
print([choice.words for choice in plan.choices])


class Echo:
    name, model, exact, thinks, window = "anthropic", "m", False, False, None

    async def stream(self, request):
        text = '{"said": 1}' if isinstance(request.output, llm.Json) else request.messages[0].text
        yield text
        yield llm.Reply(text, "stop", self.name, self.model, llm.Usage(10, 5))

    def count(self, text):
        return len(text)

    async def models(self):
        return ("m",)

    async def close(self):
        pass


async def main():
    told = []
    router = Router(
        plan, lambda choice: Echo(), Ledger(Caps(usd=1.0)), default_prices(), told.append,
        lambda choice: Breaker(),
    )
    poet = await router.at("poet")
    question = llm.Request("poet", "Be brief.", (llm.Message("user", "hello"),), max_tokens=100)
    reply = await complete_reply(poet, question)
    schema = {"type": "object", "properties": {"said": {"type": "integer"}}}
    value = await ask_typed(poet, question, schema, lambda value: value)
    await router.close()
    print(reply.text, value, round(reply.cost_usd * 1e6), [type(one).__name__ for one in told])


asyncio.run(main())
for module in pkgutil.walk_packages(llm.__path__, "llm."):
    if "huggingface" not in module.name:  # torch takes seconds
        __import__(module.name)
'''


@pytest.mark.nightly
def test_llm_is_used_in_a_folder_by_itself(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "llm", tmp_path / "llm", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "use.py").write_text(ALONE, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "use.py", str(tmp_path)], cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "['anthropic/claude-sonnet-5-5', 'anthropic/claude-haiku-5-5']",
        "hello {'said': 1} 70 ['CallStarted', 'CallEnded', 'CallStarted', 'CallEnded']",
    ]


def test_it_names_nothing_of_the_program_around_it() -> None:
    """No role, prompt, option or variable of ours: what is left of that belongs to who uses it."""
    ours = (
        "generator", "qa_adversary", "spec_tester", "memory_summariser", "HEAL_", "--provider",
        "prompts/", "self-heal",
    )
    found = [
        f"{path.name}: {word}" for path in sorted((ROOT / "llm").rglob("*.py"))
        for word in ours if word in path.read_text(encoding="utf-8").replace("a generator", "")
    ]
    assert found == []


@pytest.mark.parametrize("code", [
    "import llm",
    "import llm; llm.resolve({'ANTHROPIC_API_KEY': llm.Secret('k')}, {'a': 'think'}, "
    "provider='anthropic')",
])
def test_importing_it_and_making_a_plan_load_nothing_heavy(code: str) -> None:
    """Every command and page does it, and most of them ask no model."""
    names = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    ).stdout.split()
    assert {name.partition(".")[0] for name in names} & {*HEAVY} == set()
