import pytest

from larder import cli


def test_list(recipe_file, capsys):
    assert cli.main(["list", str(recipe_file), "--people", "4"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "egg: 4",
        "flour: 400 g",
        "milk: 600 ml",
        "some oil: some",
    ]


def test_list_with_staples(recipe_file, capsys):
    cli.main(["list", str(recipe_file), "--staples"])
    assert "salt: 1 pinch" in capsys.readouterr().out


def test_list_of_the_same_file_twice(recipe_file, capsys):
    cli.main(["list", str(recipe_file), str(recipe_file)])
    assert "milk: 600 ml" in capsys.readouterr().out


def test_convert(capsys):
    assert cli.main(["convert", "2", "cups", "flour", "g"]) == 0
    assert capsys.readouterr().out == "254.4 g\n"


def test_errors_go_to_stderr(capsys):
    assert cli.main(["convert", "2", "eggs", "g"]) == 1
    assert capsys.readouterr().err == "larder: cannot turn piece into g\n"


def test_a_missing_file(tmp_path, capsys):
    assert cli.main(["list", str(tmp_path / "none.txt")]) == 1
    assert capsys.readouterr().err.startswith("larder: ")


def test_a_command_is_needed(capsys):
    with pytest.raises(SystemExit):
        cli.main([])


def test_an_unknown_unit_is_reported(capsys):
    assert cli.main(["convert", "2", "cups", "flour", "stone"]) == 1
    assert capsys.readouterr().err == "larder: unknown unit 'stone'\n"


def test_an_unknown_unit_of_a_known_thing(capsys):
    assert cli.main(["convert", "1", "l", "milk", "buckets"]) == 1
