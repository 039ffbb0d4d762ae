"""The JSON Schema of the result document (`agent.report.result.document`).

It is built from the types that the document is built from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model
from pydantic.json_schema import JsonSchemaValue

from agent.core.domain import Behaviour, Evidence, SuspectFile, Verdict
from agent.core.events import Parent, PartialFound, TestRuled
from agent.core.measures import MEASURES
from agent.report.metrics import Degraded, NodeMetrics
from agent.report.result import COPIED_KEYS, NULLABLE, OLD_NAMES, VERDICT_EXCLUDES, VERSION, Result

_STRICT = ConfigDict(extra="forbid")


def document_schema() -> JsonSchemaValue:
    """The schema of the document of a file or project."""
    tests = _list_of("Test", _fields(Verdict, VERDICT_EXCLUDES), id=str)
    best = _model("Best", {}, iteration=int | None, label=str, diff=str, files=dict[str, str],
                  tests=tests)
    behaviours = _list_of("Behaviour", _fields(Behaviour, {"solution"}))
    competing = _model("Competing", {}, call=str, behaviours=behaviours)
    changed = _list_of("Changed", {}, file=str, line=int)
    commit = _model("Commit", {}, branch=str, commit=str)
    project = _model(
        "Project", {}, root=str, name=str, python=str, settings=str | None,
        test_command=str | None, failed_before=list[str], uncollected=list[str], untried=int,
        changed=changed, next=list[str], model_question=str | None, commit=commit | None,
    )
    document = _model(
        "Result", {name: _type_of(name) for name in COPIED_KEYS}, version=int,
        **dict.fromkeys(NULLABLE, str | None), parent=Parent | None,
        evidence=_model("Evidence", _fields(Evidence)) | None, files=dict[str, str], tests=tests,
        refused=list[str], rulings=_list_of("Ruling", _fields(TestRuled, {"kind"})),
        suspects=list[SuspectFile], competing=competing | None, rivals=competing | None,
        seconds=float, measures=_model("Measures", dict.fromkeys(MEASURES, int | bool | None)),
        metrics=dict[str, NodeMetrics], degraded=list[Degraded], project=project | None,
        not_a_fix=_model("Partial", _fields(PartialFound, {"kind", "note"})) | None,
        best=best | None,
    )
    schema = document.model_json_schema()
    schema["properties"]["version"] = {"const": VERSION}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _type_of(attribute: str) -> Any:
    owner = vars(Result).get(attribute)
    if isinstance(owner, property):
        return get_type_hints(owner.fget)["return"]
    return get_type_hints(Result)[attribute]


def _model(name: str, fields: Mapping[str, Any], /, **more: Any) -> Any:
    every = {one: (kind, ...) for one, kind in {**fields, **more}.items()}
    return create_model(name, __config__=_STRICT, **every)  # type: ignore[call-overload]


def _list_of(name: str, fields: Mapping[str, Any], /, **more: Any) -> Any:
    return list[_model(name, fields, **more)]  # type: ignore[misc]


def _fields(kind: type[BaseModel], without: set[str] | frozenset[str] = frozenset()) -> (
    dict[str, Any]
):
    """The fields of a value in the document, under their old names too."""
    fields = {
        name: one.annotation for name, one in kind.model_fields.items() if name not in without
    }
    return fields | {old: fields[new] for old, new in OLD_NAMES.items() if new in fields}
