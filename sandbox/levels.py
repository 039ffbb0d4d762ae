"""Isolation levels, which are determined by tests (canaries), not by the requested level."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

Level = Literal["L4", "L3", "L2", "L1", "R"]
"""L4: L3 plus namespaces. L3: Landlock, seccomp, limits. L2: seccomp without any file access,
limits. L1: limits only. R: a remote sandbox."""

JailLevel = Literal["L2", "L3", "L4"]
"""The levels of the backend `jail`, weakest first."""

LEVEL_MEANINGS: dict[Level, str] = {
    "L4": "own namespaces, Landlock, seccomp, limits",
    "L3": "Landlock, seccomp, limits",
    "L2": "seccomp without any file, limits",
    "L1": "limits only: the network and readable files are open",
    "R": "a remote sandbox; its isolation is its provider's claim",
}
SAFE_FOR_PUBLIC: frozenset[Level] = frozenset({"L4", "L3", "L2", "R"})
"""Levels at which a public server may run anyone's code."""

_SECCOMP_CANARIES = (
    "open a socket", "start a process", "run a program", "signal another process",
    "trace another process", "enter a namespace",
)
_FILE_CANARIES = ("read a file", "list a folder", "write a file", "write outside its folder")
_NAMESPACE_CANARIES = ("see the file system", "see the parent process")
_ALLOWED_BY_GRANT = {
    "processes": (
        "start a process", "run a program", "signal another process", "see the parent process",
    ),
    "loopback": ("open a socket", "see the parent process"),
}
"""Canaries that do not apply to a job with such a grant: they only reach its own processes, or the
init process of its pid namespace, which ignores signals."""


@dataclass(frozen=True)
class Layer:
    """One layer of a jail with the result of its canaries."""

    name: str
    holds: bool
    seen: str


@dataclass(frozen=True)
class Isolation:
    """The tested isolation on this machine."""

    level: Level
    layers: tuple[Layer, ...]
    grants: frozenset[str] = frozenset()
    """The permissions that jobs can get on request: "processes", "loopback"."""


def measured_isolation(
    controls: Mapping[str, str], met: Mapping[str, str], grants: Collection[str] = ()
) -> Isolation:
    """The level that canaries show.

    `controls` and `met` have the error of each canary outside and inside the jail, empty if it
    succeeded. A layer holds if all its canaries are refused inside, and at least one of them was
    not refused in the same way outside. Canaries that `grants` allow are skipped.
    """
    left = {name for grant in grants for name in _ALLOWED_BY_GRANT[grant]}
    filtered = tuple(name for name in _SECCOMP_CANARIES if name not in left)
    places = tuple(name for name in _NAMESPACE_CANARIES if name not in left)
    seccomp = _layer("seccomp", filtered, {"EPERM", "EACCES"}, controls, met)
    files = _layer("files", _FILE_CANARIES, {"EPERM", "EACCES", "ENOENT", "EROFS"}, controls, met)
    landlock = _layer("Landlock", _FILE_CANARIES[-1:], {"EACCES"}, controls, met)
    spaces = _layer("namespaces", places, {"ENOENT", "ESRCH"}, controls, met)
    level: Level = "L1"
    if seccomp.holds and files.holds:
        level = "L2"
        if landlock.holds:
            level = "L4" if spaces.holds else "L3"
    return Isolation(level, (seccomp, files, landlock, spaces), frozenset(grants))


def _layer(
    name: str, canaries: tuple[str, ...], refusals: set[str], controls: Mapping[str, str],
    met: Mapping[str, str],
) -> Layer:
    seen = []
    all_refused, some_differ = True, False
    for canary in canaries:
        before, inside = controls.get(canary, "not tried"), met.get(canary, "not tried")
        refused, differs = inside in refusals, inside != before
        all_refused = all_refused and refused
        # A container may refuse some canaries itself, which hides the effect of this layer.
        some_differ = some_differ or (refused and differs)
        note = "" if refused and differs else " (also without the jail)" if refused else (
            " (not refused)"
        )
        seen.append(f"{canary}: {inside or 'possible'}{note}")
    return Layer(name, all_refused and some_differ, "; ".join(seen))
