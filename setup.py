"""Builds the wheel, which contains all packages under one public name, `selfheal`.

In a checkout the packages are top-level (`agent`, `llm`, `sandbox`, …), so that `python -m agent`
works. Installed, such names could collide with other packages, such as `llm`. So the wheel contains
`selfheal.agent`, `selfheal.llm` and so on, and the imports in built files are renamed accordingly.
See docs/decisions/0029-one-name-is-installed.md.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

PUBLIC = "selfheal"
PACKAGES = ("agent", "demo", "evaluation", "llm", "prompts", "sandbox")
INSIDE = (*PACKAGES, "app")
NO_MODULES = ("*.cases", "*.cases.*", "evaluation.bench*", "evaluation.programs")
"""Folders of programs that are data, which are copied unchanged."""
DATA = {
    "": ("*.toml", "*.txt", "*.yaml", "*.bin", "assets/*", "cases/**/*"),
    f"{PUBLIC}.evaluation": ("bench/**/*", "bench/**/.gitignore", "programs/*"),
}


def renamed(source: str) -> str:
    """A module's source with the installed names in its imports."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.partition(".")[0] in INSIDE:
                    raise SyntaxError(f"line {node.lineno}: use `from … import`, not `import`")
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node):
            given = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
            if any(str(one).partition(".")[0] in INSIDE for one in given):
                raise SyntaxError(f"line {node.lineno}: give `import_module` a relative name")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in INSIDE:
            line = lines[node.lineno - 1]
            before, after = line[: node.col_offset], line[node.col_offset :]
            lines[node.lineno - 1] = before + after.replace("from ", f"from {PUBLIC}.", 1)
    return "".join(lines)


class BuildRenamed(build_py):
    """Copies modules into the wheel under their installed names."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """The modules of a package; `app.py` belongs to the public package."""
        found = list(super().find_package_modules(package, package_dir))
        return [*found, (PUBLIC, "app", "app.py")] if package == PUBLIC else found

    def build_module(self, module: str, module_file: str, package: str) -> object:
        """Copies one module with renamed imports."""
        built = super().build_module(module, module_file, package)
        target = Path(built[0])
        text = target.read_text(encoding="utf-8")
        target.write_text(renamed(text), encoding="utf-8")
        return built


def layout() -> dict[str, object]:
    """The packages and their folders; an editable install keeps the checkout's names."""
    inside = find_namespace_packages(include=[f"{name}*" for name in PACKAGES], exclude=NO_MODULES)
    if "editable_wheel" in sys.argv:
        return {"packages": [PUBLIC, *inside], "py_modules": ["app"]}
    return {
        "packages": [PUBLIC, *(f"{PUBLIC}.{name}" for name in inside)],
        "package_dir": {f"{PUBLIC}.{name}": name.replace(".", "/") for name in inside},
        "package_data": DATA,
    }


if __name__ == "__main__":
    setup(cmdclass={"build_py": BuildRenamed}, **layout())
