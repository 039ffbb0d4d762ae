import pytest

from guild.rota import Plan


@pytest.fixture(scope="class")
def members():
    return ("anna", "ben", "carl")


@pytest.fixture
def rota(request, members):
    plan = Plan(members)
    mark = request.node.get_closest_marker("month")
    if mark:
        plan.fill(mark.args[0])
    return plan
