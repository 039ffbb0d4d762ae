"""Full-text queries for the lessons of a failure: SQLite's index compares words, with stemming and
the synonyms of `meanings.txt`."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from agent.core.domain import Diagnosis, Value
from agent.core.trees import nodes_or_empty
from agent.memory.failures import TIMEOUT, WRONG_RESULT, FailureKey

MAX_LESSONS = 5
MAX_WORDS = 80

_COMMON_NAMES = frozenset(
    "arg args count data first idx index item items key kwargs last left line lines list lst name "
    "names num number numbers out output res result results right row size text total tmp value "
    "values word words".split()
)
"""Words of identifiers that do not make two programs alike."""
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_STOP_WORDS = frozenset(
    "a an and are as at be but by can crashes did does error exception expected for from gave give "
    "gives got had has have helped if in into is it its line no not object of on or our program so "
    "than that the then there this to was were what when where which with would you your".split()
)


class FailureDescription(Value):
    """A description of a failure before its repair."""

    category: str = ""
    exception: str = ""
    message: str = ""
    cause: str = ""
    names: tuple[str, ...] = ()


def failure_description(
    diagnosis: Diagnosis, failure: FailureKey | None, text: str
) -> FailureDescription:
    """Describes the failure of a diagnosed program; `failure` is `None` without a test."""
    return FailureDescription(
        category=diagnosis.category, exception=failure.exception if failure is not None else "",
        message=failure.message if failure is not None else "", cause=diagnosis.cause,
        names=identifiers_in(text),
    )


def words_of(*texts: str) -> tuple[str, ...]:
    """The distinct words of texts in lower case and in order, without stop words."""
    found = (word.lower() for text in texts for word in _PART.findall(text) if len(word) > 1)
    return tuple(dict.fromkeys(word for word in found if word not in _STOP_WORDS))[:MAX_WORDS]


def query_of(symptom: FailureDescription) -> str:
    """The index query: any word of the failure, or its kind together with an unusual name of the
    program. A kind or a name alone is not enough."""
    raised = symptom.exception not in (WRONG_RESULT, TIMEOUT)
    names = words_of(*symptom.names)
    rare = tuple(word for word in names if word not in _COMMON_NAMES)
    cause = [word for word in words_of(symptom.cause) if word not in names]
    words = words_of(symptom.exception if raised else "", symptom.message, *cause)
    kind = words_of(symptom.category, "" if raised else symptom.exception)
    queries = [f"(words : ({_any(words)}))"] if words else []
    if kind and rare:
        queries.append(f"((words : ({_any(kind)})) AND (names : ({_any(rare)})))")
    return " OR ".join(queries)


def identifiers_in(text: str) -> tuple[str, ...]:
    """The program's own identifiers in order; empty if it does not parse."""
    nodes = nodes_or_empty(text)
    common = {*dir(builtins), *keyword.kwlist, "self", "cls"}
    return tuple(dict.fromkeys(name for name in _identifiers(nodes) if name not in common))


def _identifiers(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


@cache
def _synonyms() -> dict[str, tuple[str, ...]]:
    lines = files(__package__).joinpath("meanings.txt").read_text(encoding="utf-8").splitlines()
    return {word: tuple(line.split()) for line in lines for word in line.split()}


def _any(words: tuple[str, ...]) -> str:
    synonyms = (other for word in words for other in (word, *_synonyms().get(word, ())))
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(synonyms))
