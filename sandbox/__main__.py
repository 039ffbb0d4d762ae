"""`python -m sandbox`: runs a file in the jail, tests the jail, or measures it.

    python -m sandbox run FILE [--stdin TEXT|@FILE] [--json] [-- ARGS]
    python -m sandbox selftest [--all] [--at-most LEVEL] [--json]
    python -m sandbox bench [--json]

Each command takes `--backend NAME`, before or after the command's name.
`selftest` exits with 1 if an attack was not refused as expected, `bench` if a figure misses its
target.
Exit codes of `run`: that of the program; 124 after a time-out; 128 plus the signal's number if a
signal or a limit ended it; 2 for an unreadable file; 3 for an error of the sandbox.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import math
import signal
import sys
from pathlib import Path
from typing import get_args

from sandbox.attacks import Gauntlet, Targets, gauntlet
from sandbox.attacks.attack import ATTACK_SUCCEEDED
from sandbox.contract import RUN_AS_MAIN, CheckResult, run_checks
from sandbox.levels import LEVEL_MEANINGS, JailLevel
from sandbox.sandbox import BACKENDS, STRONGEST, Sandbox, open_sandbox
from sandbox.types import Job, Limits, Outcome, SandboxError, SandboxUnavailable

_DEFAULT = Limits()


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    command_arguments, program_arguments = _split_arguments(given)
    chosen = _parser().parse_args(command_arguments)
    try:
        if chosen.command == "selftest":
            sandbox = _limited_jail(chosen.backend, chosen.at_most)
            return asyncio.run(_selftest(sandbox, every=chosen.all, as_json=chosen.json))
        if chosen.command == "bench":
            return _bench(chosen.backend, as_json=chosen.json)
        sandbox = open_sandbox(chosen.backend)
        outcome = asyncio.run(sandbox.run(_job(chosen, program_arguments)))
        return _show_outcome(outcome, as_json=chosen.json)
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 3
    except (OSError, _Unreadable) as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 2


def _split_arguments(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments of this command and those of the program, which follow `--`."""
    if "--" not in arguments:
        return arguments, []
    separator = arguments.index("--")
    return arguments[:separator], arguments[separator + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}",
        description="Runs untrusted Python in a jail. The program's arguments follow after --.",
    )
    _offer_backends(parser, default=STRONGEST)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run one Python file in the jail")
    run.add_argument("file", type=Path)
    run.add_argument("--stdin", default="", metavar="TEXT|@FILE", help="its standard input")
    run.add_argument("--site", action="append", default=[], help="a folder of packages")
    run.add_argument("--seconds", type=_seconds, default=_DEFAULT.wall_s, help="wall time allowed")
    run.add_argument(
        "--mebibytes", type=_mebibytes, default=_DEFAULT.memory_mib, help="memory allowed"
    )
    run.add_argument("--json", action="store_true", help="print the whole outcome as JSON")
    selftest = commands.add_parser("selftest", help="test the isolation of the jail with attacks")
    selftest.add_argument("--all", action="store_true", help="test the whole contract too")
    selftest.add_argument("--at-most", choices=get_args(JailLevel), help="the highest level to use")
    selftest.add_argument("--json", action="store_true")
    bench = commands.add_parser("bench", help="measure the jail and compare it with its targets")
    bench.add_argument("--json", action="store_true")
    for command in (run, selftest, bench):
        # A default here would override the option before the command's name.
        _offer_backends(command, default=argparse.SUPPRESS)
    return parser


def _offer_backends(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--backend", choices=[STRONGEST, *sorted(BACKENDS)], default=default)


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return number


def _mebibytes(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of MiB")
    return number


def _job(chosen: argparse.Namespace, arguments: list[str]) -> Job:
    stdin: str = chosen.stdin
    if stdin.startswith("@"):
        stdin = _text(Path(stdin[1:]))
    path: Path = chosen.file
    return Job(
        RUN_AS_MAIN,
        payload=[path.name, [*arguments]],
        files={path.name: _text(path)},
        stdin=stdin,
        package_folders=tuple(chosen.site),
        # The wall time ends first, so that an endless loop is reported as a time-out.
        limits=Limits(wall_s=chosen.seconds, cpu_s=chosen.seconds + 1, memory_mib=chosen.mebibytes),
    )


def _text(path: Path) -> str:
    """The text of a file; raises `_Unreadable` if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _Unreadable(f"{path} is not UTF-8: {error}") from error


class _Unreadable(Exception):
    """The file is not UTF-8 text."""


def _show_outcome(outcome: Outcome, as_json: bool) -> int:
    if as_json:
        print(json.dumps(dataclasses.asdict(outcome), indent=2))
    else:
        sys.stdout.write(outcome.stdout)
        sys.stdout.flush()
        sys.stderr.write(outcome.stderr)
        why = outcome.limit or outcome.signal or f"exit code {outcome.exit_code}"
        refused = "".join(f"; {words}" for words in outcome.refusals)
        print(f"[{outcome.ended}: {why}, {outcome.wall_s:.2f} s{refused}]", file=sys.stderr)
    if outcome.ended == "timeout":
        return 124
    if outcome.ended != "output" and outcome.exit_code is not None:
        return outcome.exit_code
    number = getattr(signal, outcome.signal, signal.SIGKILL)
    return 128 + int(number)


def _bench(backend: str, as_json: bool) -> int:
    if backend not in (STRONGEST, "jail"):
        raise SandboxUnavailable(f"only the jail can be measured, not {backend}")
    if sys.platform != "linux":
        raise SandboxUnavailable("the jail needs Linux, so it cannot be measured here")
    from sandbox.bench import main as measure  # only importable on Linux

    return asyncio.run(measure(as_json))


def _limited_jail(backend: str, level: JailLevel | None) -> Sandbox:
    if level is None:
        return open_sandbox(backend)
    if backend not in (STRONGEST, "jail"):
        raise SandboxUnavailable(f"only the jail has levels, not {backend}; add --backend jail")
    from sandbox.jail import JailSandbox  # only importable on Linux

    return JailSandbox(at_most=level)


async def _selftest(sandbox: Sandbox, every: bool, as_json: bool) -> int:
    if not as_json:
        print(sandbox.describe(), flush=True)
    async with Targets() as targets:
        seen = await gauntlet(sandbox, targets)
    if not as_json:
        _show_gauntlet(seen)
    found: list[CheckResult] = []
    if every:
        async for finding in run_checks(sandbox, seen.isolation.level):
            found.append(finding)
            if not as_json:
                _show_finding(finding)
    held = sum(finding.holds for finding in found)
    if as_json:
        print(json.dumps(_document(seen, found, every), indent=2))
    elif every:
        print(f"contract: {held} of {len(found)} claims hold")
    return 1 if seen.count("breached") or held < len(found) else 0


def _show_gauntlet(seen: Gauntlet) -> None:
    print(f"level {seen.isolation.level}: {LEVEL_MEANINGS[seen.isolation.level]}")
    for layer in seen.isolation.layers:
        print(f"  {'holds' if layer.holds else 'no':6} {layer.name}: {layer.seen}")
    for one in seen.results:
        if one.result != "blocked":
            print(f"{one.result:8} {one.name}: {one.errno or 'not tried'} ({one.why})")
    blocked, breached = seen.count("blocked"), seen.count("breached")
    through = sum(result.control == ATTACK_SUCCEEDED for result in seen.results)
    print(
        f"attacks: {blocked} blocked, {breached} breached, {seen.count('skipped')} skipped; "
        f"{through} succeeded without the jail"
    )


def _show_finding(finding: CheckResult) -> None:
    print(f"{'holds' if finding.holds else 'FAILS':6} {finding.claim}", flush=True)
    if not finding.holds:
        print(f"       {finding.seen_wrong}")


def _document(seen: Gauntlet, found: list[CheckResult], every: bool) -> dict[str, object]:
    document: dict[str, object] = {
        "level": seen.isolation.level,
        "layers": [dataclasses.asdict(layer) for layer in seen.isolation.layers],
        "attacks": [dataclasses.asdict(result) for result in seen.results],
    }
    if every:
        document["contract"] = [dataclasses.asdict(one) | {"holds": one.holds} for one in found]
    return document


if __name__ == "__main__":
    sys.exit(main())
