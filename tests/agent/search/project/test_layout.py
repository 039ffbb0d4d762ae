"""Where the parts of a project lie, and which of its files may be edited or are tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.interfaces.project.selection import names_project
from agent.target.errors import BadInput
from agent.target.repository.layout import find_layout, layout_at
from agent.target.repository.tree import ProjectTree, is_collected, is_test_code, read_tree


def lay(root: Path, *paths: str, **texts: str) -> Path:
    for path in paths:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"# {path}\n")
    for name, text in texts.items():
        (root / name.replace("__", ".")).write_text(text)
    return root


def tree_at(root: Path, **more: tuple[str, ...]) -> ProjectTree:
    return read_tree(find_layout(root), **more)


@pytest.mark.parametrize(("texts", "paths", "roots", "configuration"), [
    ({"pyproject__toml": "[tool.pytest.ini_options]\n"}, ["src/a/__init__.py"],
     ("src", ""), "pyproject.toml"),
    ({"pytest__ini": "[pytest]\npythonpath = lib\n"}, ["lib/b.py"], ("lib", ""), "pytest.ini"),
    ({"setup__cfg": "[options.packages.find]\nwhere = code\n"}, ["code/c/__init__.py"],
     ("code", ""), ""),
    ({"setup__cfg": "[tool:pytest]\n"}, ["d.py"], ("",), "setup.cfg"),
    ({"tox__ini": "[pytest]\n"}, ["e/f/__init__.py"], ("",), "tox.ini"),
    ({"pyproject__toml": '[tool.setuptools.packages.find]\nwhere = ["./src"]\n'},
     ["src/g.py"], ("src", ""), ""),
])
def test_roots_and_configuration_are_found(
    tmp_path: Path, texts: dict[str, str], paths: list[str], roots: tuple[str, ...],
    configuration: str,
) -> None:
    layout = find_layout(lay(tmp_path, *paths, **texts))
    assert (layout.import_roots, layout.configuration) == (roots, configuration)


def test_the_project_is_found_from_anywhere_within_it(tmp_path: Path) -> None:
    lay(tmp_path, "src/a/__init__.py", "tests/unit/test_a.py", pyproject__toml="")
    for start in ("", "src/a", "tests/unit", "tests/unit/test_a.py"):
        assert find_layout(tmp_path / start).root == tmp_path


def test_what_cannot_be_read_is_said_with_its_path(tmp_path: Path) -> None:
    lay(tmp_path, pyproject__toml="[broken")
    with pytest.raises(BadInput, match=r"pyproject\.toml"):
        find_layout(tmp_path)
    with pytest.raises(BadInput, match="nowhere"):
        find_layout(tmp_path / "nowhere")


@pytest.mark.parametrize(("path", "is_test"), [
    ("tests/test_a.py", True), ("src/a/tests/helpers.py", True), ("conftest.py", True),
    ("a/conftest.py", True), ("a_test.py", True), ("setup.py", True), ("src/a/testing.py", False),
    ("a/contest.py", False), ("src/attest/core.py", False), ("tests.py", True),
])
def test_test_code_is_recognised(path: str, is_test: bool) -> None:
    assert is_test_code(path) is is_test


def test_only_what_is_shipped_may_be_edited(tmp_path: Path) -> None:
    lay(tmp_path, "src/a/__init__.py", "src/a/b.py", "tests/test_b.py", "tests/conftest.py",
        "docs/conf.py", "setup.py", "src/a/data.txt")
    tree = tree_at(tmp_path)
    assert tree.editable == {"src/a/__init__.py", "src/a/b.py"}
    assert {"tests/conftest.py", "src/a/data.txt", "setup.py"} <= tree.protected.keys()
    assert tree_at(tmp_path, only=("src/a/b.py",)).editable == {"src/a/b.py"}
    assert tree_at(tmp_path, exclude=("src/a/b*",)).editable == {"src/a/__init__.py"}
    assert tree_at(tmp_path, only=("tests",)).editable == frozenset()


def test_what_git_ignores_is_left_out_but_for_modules(tmp_path: Path) -> None:
    lay(tmp_path, "a/__init__.py", "a/_version.py", "big.bin", "fresh.py", ".venv/lib/x.py",
        __gitignore="_version.py\n*.bin\n.venv\n")
    (tmp_path / ".gitignore").write_text("_version.py\n*.bin\n.venv\n")
    for command in (["init", "-q"], ["add", "a/__init__.py"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    files = tree_at(tmp_path).files
    assert {"a/__init__.py", "a/_version.py", "fresh.py"} <= files.keys()
    assert not {"big.bin", ".venv/lib/x.py"} & files.keys()


def test_outside_links_and_large_files_are_left_out(tmp_path: Path) -> None:
    root = lay(tmp_path / "p", "a.py", pyproject__toml="")
    (tmp_path / "secret").write_text("key")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "in.py").symlink_to(root / "a.py")
    (root / "large.csv").write_bytes(b"x" * 2_100_000)
    tree = tree_at(root)
    assert tree.files["in.py"] == "# a.py\n"
    assert not {"out", "large.csv"} & tree.files.keys()
    assert len(tree.notices) == 2


def test_files_that_hold_keys_stay_where_they_are(tmp_path: Path) -> None:
    lay(tmp_path, "a.py", ".env", ".env.example", "deploy/server.pem", ".env.local")
    tree = tree_at(tmp_path)
    assert {*tree.files} == {"a.py", ".env.example"}
    lay(tmp_path, ".envrc", "prod.env", ".npmrc", ".aws/credentials", "secrets.toml", "id_ecdsa",
        ".pgpass", ".kube/config", "credentials.py")
    assert {*tree_at(tmp_path).files} == {"a.py", ".env.example", "credentials.py"}
    assert all(any(name in one for one in tree.notices) for name in (".env", "server.pem"))


def test_fixtures_of_tests_that_git_tracks_are_no_secrets(tmp_path: Path) -> None:
    lay(tmp_path, "a.py", ".env", "tests/.env", "tests/certs/client.key", "tests/mine.env")
    assert {*tree_at(tmp_path).files} == {"a.py"}
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    tracked = [".env", "tests/.env", "tests/certs/client.key"]
    subprocess.run(["git", "add", "-f", *tracked], cwd=tmp_path, check=True)
    assert {*tree_at(tmp_path).files} == {"a.py", "tests/.env", "tests/certs/client.key"}


def test_bytes_that_are_no_text_come_through(tmp_path: Path) -> None:
    data = bytes(range(256))
    lay(tmp_path, "a.py")
    (tmp_path / "raw.dat").write_bytes(data)
    text = tree_at(tmp_path).files["raw.dat"]
    assert text.encode("utf-8", "surrogateescape") == data


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    lay(tmp_path, "a.py", "b.py")
    (tmp_path / "b.py").chmod(0)
    assert any("b.py" in notice for notice in tree_at(tmp_path).notices)


def test_modules_made_for_tests_are_not_edited(tmp_path: Path) -> None:
    lay(tmp_path, "a.py")
    (tmp_path / "plugin.py").write_text("import os\nimport pytest\n")
    (tmp_path / "fixtures.py").write_text("def f():\n    from pytest import raises\n")
    assert tree_at(tmp_path).editable == {"a.py"}


def test_reading_a_repository_starts_no_program_that_it_names(tmp_path: Path) -> None:
    lay(tmp_path, "a.py")
    other_run = tmp_path.parent / f"{tmp_path.name}-ran"
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {other_run}\n")
    program.chmod(0o755)
    (tmp_path / ".gitattributes").write_text("*.py filter=evil\n")
    for command in (
        ["init", "-q"], ["add", "a.py"], ["config", "core.fsmonitor", str(program)],
        ["config", "filter.evil.clean", str(program)],
        ["config", "filter.evil.process", str(program)],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    (tmp_path / "a.py").write_text("# changed\n")
    assert "a.py" in tree_at(tmp_path).files
    assert not other_run.exists()


def test_a_broken_git_folder_is_reported(tmp_path: Path) -> None:
    lay(tmp_path, "a.py")
    (tmp_path / ".git").write_text("gitdir: /nowhere/to/be/found\n")
    tree = tree_at(tmp_path)
    assert "a.py" in tree.files and "git" in tree.notices[0]


def tree_of(root: Path, files: Mapping[str, str]) -> ProjectTree:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return read_tree(layout_at(root))


PACKAGE = {"shop/__init__.py": "", "shop/till.py": "x = 1\n", "tests/test_a.py": "import helper\n"}


@pytest.mark.parametrize(("more", "editable"), [
    # Nothing but tests imports it, and a package is there to be shipped.
    ({"helper.py": "import deeper\n", "deeper.py": ""}, set()),
    # A module of the package needs it.
    ({"helper.py": "", "shop/till.py": "import helper\n"}, {"helper.py"}),
    # The project says that it ships it.
    ({"helper.py": "", "pyproject.toml": '[tool.setuptools]\npy-modules = ["helper"]\n'},
     {"helper.py"}),
    # Nobody imports it: a script.
    ({"run.py": "import shop\n"}, {"run.py"}),
])
def test_a_module_beside_the_package_that_tests_alone_import_is_test_code(
    more: dict[str, str], editable: set[str], tmp_path: Path
) -> None:
    tree = tree_of(tmp_path, PACKAGE | more)
    assert tree.editable == {"shop/__init__.py", "shop/till.py"} | editable


def test_where_nothing_else_is_shipped_a_module_is_the_program(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"till.py": "", "test_till.py": "import till\n"})
    assert tree.editable == {"till.py"}


@pytest.mark.parametrize(("settings", "patterns"), [
    ({"pytest.ini": "[pytest]\npython_files = check_*.py\n"}, ("check_*.py",)),
    ({"setup.cfg": "[tool:pytest]\npython_files = check_*.py a.py\n"}, ("check_*.py", "a.py")),
    ({"pyproject.toml": '[tool.pytest.ini_options]\npython_files = ["check_*.py"]\n'},
     ("check_*.py",)),
    ({"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-q"\n'},
     ("test_*.py", "*_test.py")),
])
def test_tests_are_the_files_that_its_pytest_collects(
    settings: dict[str, str], patterns: tuple[str, ...], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = tree_of(tmp_path, settings | {"till.py": "", "checks/check_till.py": ""})
    assert tree.layout.test_files == patterns
    monkeypatch.chdir(tmp_path)
    own = "check_*.py" in patterns
    assert ("checks/check_till.py" in tree.editable, names_project("checks/check_till.py")) == (
        not own, own
    )


def test_a_pattern_that_takes_in_every_file_tells_no_test_from_a_module(tmp_path: Path) -> None:
    ini = "[pytest]\npython_files = *.py\n"
    tree = tree_of(tmp_path, {"pytest.ini": ini, "till.py": "", "test_till.py": ""})
    assert tree.editable == {"till.py"}
    assert is_collected("a/b/check.py", ("b/*.py",)) and not is_collected("b.py", ("a/*.py",))


def test_a_file_is_edited_under_its_own_path_and_not_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "also").symlink_to("real")
    (tmp_path / "alias.py").symlink_to("till.py")
    tree = tree_of(tmp_path, {"till.py": "x = 1\n", "test_till.py": "import alias\n"})
    assert (tree.files["alias.py"], tree.editable) == ("x = 1\n", {"till.py"})
