import pytest

TABLE = "\ufeffTime;Temp;_battery;RH\r\n0:10;1,5;99;80\r\n\r\n0:20;-;98;81\r\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def table(folder):
    path = folder / "lake.csv"
    path.write_text(TABLE, "utf-8")
    yield path
    path.unlink()
