"""The macOS profile as text; that macOS keeps it was never seen."""

from __future__ import annotations

from sandbox.seatbelt import profile


def test_a_profile_denies_first_and_allows_by_name() -> None:
    text = profile(["/python/lib"], ["/job/work", "/job/tmp"])

    assert text.splitlines()[:2] == ["(version 1)", "(deny default)"]
    assert '(allow file-read* (subpath "/python/lib"))' in text
    assert '(allow file-read* file-write* (subpath "/job/work"))' in text
    assert "network" not in text
    assert "process-exec" not in text


def test_a_path_cannot_end_its_rule() -> None:
    text = profile(['/a" ) (allow default) ("\\'], [])

    assert '(subpath "/a\\" ) (allow default) (\\"\\\\"))' in text
