import datetime

import pytest


@pytest.fixture(scope="session")
def record():
    return {
        "state": "Open",
        "age": 31,
        "owner": {"name": "mia", "mail": None},
        "tags": ["paper", "ink"],
        "since": datetime.date(2024, 5, 1),
        "text": "a \"quoted\" word\nand more",
    }
