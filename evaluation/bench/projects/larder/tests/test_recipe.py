from fractions import Fraction

import pytest

from larder import Ingredient, Recipe, load
from larder.errors import BadRecipe


def test_the_head(pancakes):
    assert (pancakes.title, pancakes.serves) == ("Pancakes", 2)
    assert pancakes.tags == {"sweet", "quick"}


def test_the_method_keeps_all_blocks(pancakes):
    assert pancakes.method == ["Mix. Rest.", "Fry."]


def test_ingredients(pancakes):
    assert pancakes.ingredients[0] == Ingredient("flour", Fraction(200), "g")
    assert len(pancakes.ingredients) == 5


def test_scaling(pancakes):
    assert [i.amount for i in pancakes.for_people(3).ingredients] == [300, 3, 450, Fraction(3, 2), None]


def test_scaling_leaves_the_recipe_alone(pancakes):
    larger = pancakes.for_people(6)
    assert larger.serves == 6
    assert pancakes.serves == 2
    assert larger.for_people(2).ingredients == pancakes.ingredients


def test_nobody_cannot_eat(pancakes):
    with pytest.raises(ValueError, match="at least one"):
        pancakes.for_people(0)


def test_recipes_do_not_share_ingredients():
    first, second = Recipe("a"), Recipe("b")
    first.ingredients.append(Ingredient("egg"))
    assert second.ingredients == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the recipe is empty"),
        ("Soup\nserves four", "line 2: expected 'key: value'"),
        ("Soup\n# note\nserves: four", "line 3: serves must be a number"),
        ("Soup\nserves: 0", "line 2: serves must be a number"),
        ("Soup\noven: hot", "line 2: unknown key 'oven'"),
    ],
)
def test_bad_recipes(text, message):
    with pytest.raises(BadRecipe, match=message):
        load(text)


def test_an_indented_comment_is_no_ingredient():
    assert load("Soup\n\n1 leek\n   # 2 carrots\n").ingredients == [Ingredient("leek", Fraction(1))]


def test_a_method_of_one_block():
    assert load("Tea\n\nwater\n\nBoil.\nPour.").method == ["Boil.", "Pour."]
