"""The files in `deploy/` name settings, commands, ports and routes that the program has."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
import yaml

from agent.core.settings import Settings, table
from agent.interfaces.reference_docs import PAGE
from agent.interfaces.terminal.cli import app
from demo.serving.gate import _ALLOWED_PATHS

ROOT = Path(__file__).parent.parent
KNOWN = {*(row.name for row in table()), *re.findall(r"[A-Z_]{4,}", PAGE)}
POSTGRES = {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD", "PGDATA"}


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "deploy/docker-compose.yml").read_text())
    return loaded["services"]


def pods() -> Iterator[dict[str, Any]]:
    for one in yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text()):
        if one["kind"] in ("Deployment", "StatefulSet"):
            labels = one["spec"]["template"]["metadata"]["labels"]
            assert one["spec"]["selector"]["matchLabels"] == labels
            yield one["spec"]["template"]["spec"]["containers"][0]


def environments() -> dict[str, dict[str, str]]:
    """The variables of each container that runs the program; secrets are replaced."""
    found = {name: {**one["environment"]} for name, one in compose().items()}
    for pod in pods():
        found[f"pod {pod['name']}"] = {
            one["name"]: one.get("value", "postgresql://heal:p@heal-database/heal")
            for one in pod["env"]
        }
    return found


def test_every_variable_is_a_setting_with_a_valid_value() -> None:
    found = environments()
    assert len(found) == 6
    for name, variables in found.items():
        assert {*variables} <= KNOWN | POSTGRES, name
        if "HEAL_DATABASE_URL" in variables:
            given = Settings.from_env(variables)
            assert given.database_url and given.metrics_port and given.log_format == "json"
            assert given.queue == ("page" in name)


def test_commands_ports_and_probes_are_those_of_the_program() -> None:
    commands: Any = typer.main.get_command(app)
    options = {name for one in commands.commands["worker"].params for name in one.opts}
    given = [one["command"] for one in (*compose().values(), *pods()) if "command" in one]
    assert len(given) == 4
    for command in given:
        if command != ["python", "app.py"]:
            assert command[:4] == ["python", "-m", "agent", "worker"] and command[4] in options
    for pod in pods():
        variables = environments()[f"pod {pod['name']}"]
        ports = {str(one["containerPort"]) for one in pod["ports"]}
        assert {variables.get("PORT"), variables.get("HEAL_METRICS_PORT")} - {None} <= ports
        for probe in ("livenessProbe", "readinessProbe"):
            asked = pod.get(probe, {}).get("httpGet")
            if asked and str(asked["port"]) == variables.get("PORT"):
                assert _ALLOWED_PATHS.fullmatch(asked["path"])
            elif asked:
                assert (asked["path"], str(asked["port"])) == (
                    "/metrics", variables["HEAL_METRICS_PORT"]
                )


def test_nothing_but_the_page_is_published_and_only_to_its_machine() -> None:
    published = {name: one["ports"] for name, one in compose().items() if "ports" in one}
    assert published == {"page": ["127.0.0.1:7860:7860"]}


def test_the_image_has_the_extras_that_page_and_worker_need() -> None:
    text = (ROOT / "deploy/Dockerfile").read_text()
    named = re.search(r"\.\[([\w,]+)\]", text)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert named is not None and {*named[1].split(",")} == {"ui", "postgres", "operation"}
    assert {*named[1].split(",")} <= {*extras}
    assert "USER heal" in text
