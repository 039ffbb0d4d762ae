import datetime

import pytest


@pytest.fixture
def backups(tmp_path):
    for day in (1, 2, 3):
        (tmp_path / f"home-2024-05-0{day}.tar").write_bytes(b"x" * 1024 * day)
    yield tmp_path


@pytest.fixture(scope="package")
def now():
    return datetime.datetime(2024, 5, 4, 12)
