"""The fixtures of the judge's tests, with which the pre-check must agree."""

from tests.agent.verify.conftest import jail, judge, pytest_generate_tests

__all__ = ["jail", "judge", "pytest_generate_tests"]
