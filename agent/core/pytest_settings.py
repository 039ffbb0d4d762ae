"""pytest's configuration files, and the plugins that test files need."""

from __future__ import annotations

CONFIGURATIONS: dict[str, str] = {
    "pytest.toml": "", ".pytest.toml": "", "pytest.ini": "", ".pytest.ini": "",
    "pyproject.toml": "[tool.pytest", "tox.ini": "[pytest]", "setup.cfg": "[tool:pytest]",
}
"""Files that may configure pytest, in its order, and the section that marks them."""
PLUGINS: dict[str, str] = {
    "mocker": "pytest_mock", "asyncio": "pytest_asyncio.plugin", "anyio": "anyio.pytest_plugin",
    "benchmark": "pytest_benchmark.plugin", "freezer": "pytest_freezegun", "trio": "pytest_trio",
    "hypothesis": "_hypothesis_pytestplugin", "timeout": "pytest_timeout",
    "requests_mock": "requests_mock.contrib._pytest_plugin", "httpx_mock": "pytest_httpx",
    "data_regression": "pytest_regressions.plugin", "subtests_plugin": "pytest_subtests.plugin",
}
"""Names in a test file that need a plugin, and that plugin. Loading all plugins is too slow."""
