"""Counts syntax productions, and writes `agent/search/confidence/naturalness.bin`.

    python -m evaluation.naturalness [--out FILE]

Reads the standard library and the installed packages whose licence is MIT, BSD, Apache, ISC or PSF,
without their tests. Built-in names that two folders use have their own symbol, as do attributes and
keyword arguments that 25 folders use. Productions that occur less than three times (four in the
longest context) are dropped.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import marshal
import sysconfig
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

from agent.core.trees import parse
from agent.search.confidence import naturalness
from agent.search.confidence.naturalness import TOTAL, productions

PERMISSIVE_LICENCES = ("mit", "bsd", "apache", "isc", "psf", "python software foundation")
LEAST_FOLDERS = {"builtin": 2, "other": 25}
LEAST_SEEN = {2: 3, 3: 4}
ALWAYS_NAMED = frozenset({"self", "cls", "i", "j", "n", "key", "value", "line", "result"})
EXCLUDED = ("test", "tests", "idlelib", "lib2to3", "encodings", "_vendor", "torch",
          "transformers", "bitsandbytes")
MAX_FILES = 4_000
"""The maximum number of files, sampled evenly."""
MAX_BYTES = 300_000
"""The maximum bytes of a file; larger files are probably generated."""


def main() -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path(naturalness.__file__).with_name("naturalness.bin")
    )
    out = parser.parse_args().out
    every = list(_paths())
    most = min(len(every), MAX_FILES)
    paths = [every[index * len(every) // most] for index in range(most)]
    names = frozenset(_names(paths))
    counts: dict[int, dict[tuple[str, ...], Counter[str]]] = {
        length: defaultdict(Counter) for length in range(4)
    }
    for _, tree in _trees(paths):
        for one in productions(tree, names):
            counts[0][()][one.symbol] += 1
            counts[1][one.parent.partition(" ")[0], one.field][one.symbol] += 1
            counts[2][one.parent, one.field][one.symbol] += 1
            counts[3][one.parent, one.field, one.before][one.symbol] += 1
    frequent = {
        length: {
            context: found for context, symbols in of_length.items()
            if (found := _frequent(symbols, LEAST_SEEN.get(length, 1), length > 0))
        }
        for length, of_length in counts.items()
    }
    packed = zlib.compress(marshal.dumps({"names": sorted(names), "counts": frequent}), 9)
    out.write_bytes(packed)
    print(f"{len(paths):,} files, {len(names)} names, {len(packed) // 1024} kB in {out}")
    return 0


def _frequent(symbols: Counter[str], least: int, with_total: bool) -> dict[str, int]:
    found = {symbol: count for symbol, count in sorted(symbols.items()) if count >= least}
    return {**found, TOTAL: sum(symbols.values())} if found and with_total else found


def _paths() -> Iterator[Path]:
    standard = Path(sysconfig.get_paths()["stdlib"])
    own = (one for one in standard.rglob("*.py") if "site-packages" not in one.parts)
    found = (one for some in (own, *map(_files, distributions())) for one in sorted(some))
    for path in dict.fromkeys(found):
        inner = path.parts[len(standard.parts) :]
        if not {*EXCLUDED} & {*inner} and path.is_file() and path.stat().st_size < MAX_BYTES:
            yield path


def _trees(paths: Sequence[Path]) -> Iterator[tuple[str, ast.Module]]:
    """Yields each file's folder and tree one at a time, because all trees take gigabytes."""
    for path in paths:
        try:
            yield str(path.parent), parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError, RecursionError):
            continue  # templates and files for other Python versions


def _files(one: Distribution) -> list[Path]:
    """The Python files of a distribution under a permissive licence."""
    about = one.metadata
    licences = [
        text[:200] for name in ("License-Expression", "License") for text in about.get_all(name, [])
    ]
    licences += [text for text in about.get_all("Classifier", []) if text.startswith("License")]
    if not any(word in text.lower() for text in licences for word in PERMISSIVE_LICENCES):
        return []
    return [Path(str(file.locate())) for file in one.files or () if file.suffix == ".py"]


def _names(paths: Sequence[Path]) -> Iterator[str]:
    folders: dict[str, set[str]] = defaultdict(set)
    for folder, tree in _trees(paths):
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name):
                    folders[name].add(folder)
                case ast.Attribute(attr=name):
                    folders[f".{name}"].add(folder)
                case ast.keyword(arg=str(name)):
                    folders[f"={name}"].add(folder)
    built_in = frozenset(dir(builtins))
    for name, found in folders.items():
        is_built_in = name in built_in
        if name in ALWAYS_NAMED or (is_built_in and len(found) >= LEAST_FOLDERS["builtin"]) or (
            name[0] in ".=" and len(found) >= LEAST_FOLDERS["other"]
        ):
            yield name


if __name__ == "__main__":
    raise SystemExit(main())
