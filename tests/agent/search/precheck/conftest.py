"""The fixtures of the judge's tests: screening is held to the judge."""

from tests.agent.verify.conftest import jail, judge, pytest_generate_tests

__all__ = ["jail", "judge", "pytest_generate_tests"]
