"""The figures this project promises, each beside a floor measured in the same run.

    python -m evaluation.bench [NAME ...]      default: all that can be measured here

Machines are shared and noisy: read medians and ratios, not single times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from evaluation.measures import processes, workbench

BENCHES: dict[str, Callable[[], Iterator[str]]] = {
    "cli": processes.cli,
    "page": processes.page,
    "arrival": workbench.interactive,
    "click": workbench.click,
    "stop": workbench.stop,
    "scrub": workbench.scrub,
}


def main(names: Sequence[str]) -> int:
    """Runs the named measurements and prints one line for each figure."""
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; choose from {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    for name in names or BENCHES:
        for line in BENCHES[name]():
            print(f"{name:<10} {line}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
