from unittest import mock

from retain import Catalog, Policy, cli


def test_overview(backups, now, capsys):
    assert cli.main([str(backups), "--keep", "last=2"], now) == 0
    assert capsys.readouterr().out.splitlines() == [
        "-  home  2024-05-01 00:00  3 days  1.0 KiB",
        "+  home  2024-05-02 00:00  2 days  2.0 KiB  last",
        "+  home  2024-05-03 00:00   1 day  3.0 KiB  last",
        "1 of 3 go, 1.0 KiB freed",
    ]


def test_nothing_is_deleted_unless_asked(backups, now):
    cli.main([str(backups), "--keep", "last=0"], now)
    assert len(list(backups.iterdir())) == 3


def test_delete(backups, now, capsys):
    cli.main([str(backups), "--keep", "last=1", "--delete"], now)
    assert [path.name for path in backups.iterdir()] == ["home-2024-05-03.tar"]
    assert capsys.readouterr().out.endswith("2 deleted\n")


def test_protect(backups, now):
    names = ["home-2024-05-01.tar", "home-2024-05-02.tar"]
    cli.main([str(backups), "--keep", "last=1", "--delete", "--protect", names[0], "--protect", names[1]], now)
    assert len(list(backups.iterdir())) == 3


def test_a_file_that_is_gone(backups):
    announce = mock.Mock()
    verdicts = Policy.parse("last=1").verdicts(Catalog.scan(backups))
    (backups / "home-2024-05-01.tar").unlink()
    assert cli.delete(backups, verdicts, announce) == 1
    announce.assert_called_once_with("home-2024-05-01.tar is gone already")


def test_a_bad_policy(backups, capsys):
    assert cli.main([str(backups), "--keep", "never"]) == 2
    assert capsys.readouterr().err == "retain: cannot read 'never'\n"


def test_a_missing_folder(backups, capsys):
    assert cli.main([str(backups / "none")]) == 2
    assert "retain: " in capsys.readouterr().err


def test_an_empty_folder(tmp_path, now, capsys):
    assert cli.main([str(tmp_path)], now) == 0
    assert capsys.readouterr().out == "\n0 of 0 go, 0 B freed\n"


def test_all_files_are_gone(backups):
    words = []
    verdicts = Policy.parse("last=0").verdicts(Catalog.scan(backups))
    for path in backups.iterdir():
        path.unlink()
    assert cli.delete(backups, verdicts, announce=words.append) == 0
    assert len(words) == 3
