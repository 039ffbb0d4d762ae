import pytest

from larder import load

PANCAKES = """\
# from grandmother
Pancakes
serves: 2
tags: Sweet, quick,

200 g flour
2 eggs
300 ml milk
1 pinch salt
some oil

Mix. Rest.

Fry.
"""


@pytest.fixture(scope="session")
def pancakes():
    return load(PANCAKES)


@pytest.fixture
def recipe_file(tmp_path):
    path = tmp_path / "pancakes.txt"
    path.write_text(PANCAKES, "utf-8")
    return path
