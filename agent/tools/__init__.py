"""Tools for coding agents: functions with JSON schemas, over a private copy of a folder."""

from agent.tools.code_sandbox import CodeSandbox
from agent.tools.registry import ToolRegistry, ToolResult
from agent.tools.standard import open_tools
from agent.tools.workspace import Workspace

__all__ = ["CodeSandbox", "ToolRegistry", "ToolResult", "Workspace", "open_tools"]
