"""`docs/colab.ipynb` runs from top to bottom in a kernel, as Colab would run it. Only what the test
says in the place of its parameters is otherwise: nothing is installed, no link is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.demo.apart import free_port

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "docs/colab.ipynb"
LOOK = """\
import urllib.request
print(urllib.request.urlopen("http://127.0.0.1:" + os.environ["PORT"]).status)
page.terminate()
print(page.wait(60))
"""
"""A further cell: the page answers, and can be ended."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in, and a port for the page."""
    for name, value in {
        "PYTHONPATH": str(ROOT), "HEAL_DATA_DIR": str(tmp_path / "data"), "PORT": str(free_port()),
        "HEAL_BUDGET_S": "900", "HEAL_SEARCH_S": "100", "NO_COLOR": "1",
        "IPYTHONDIR": str(tmp_path / "ipython"), "GRADIO_ANALYTICS_ENABLED": "False",
    }.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def ran(folder: Path, **parameters: object) -> list[tuple[str, str]]:
    """Each cell that has code, and what it printed; one that raises fails here."""
    reason = "nbclient and ipykernel come with the extra `test`"
    nbformat = pytest.importorskip("nbformat", reason=reason)
    nbclient = pytest.importorskip("nbclient", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    book = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(book)
    given = {"SOURCE": "", "SHARE": False, **parameters}
    (place,) = (
        at for at, one in enumerate(book.cells) if "parameters" in one.metadata.get("tags", ())
    )
    assert all(f"\n{name} = " in book.cells[place].source for name in given)
    said = "\n".join(f"{name} = {value!r}" for name, value in given.items())
    book.cells.insert(place + 1, nbformat.v4.new_code_cell(said))
    book.cells.append(nbformat.v4.new_code_cell(LOOK))
    nbclient.NotebookClient(
        book, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(folder)}},
    ).execute()
    return [
        (cell.source, "".join(
            one["text"] if "text" in one else one["data"]["text/plain"] for one in cell.outputs
        ))
        for cell in book.cells if cell.cell_type == "code"
    ]


def said_by(cells: list[tuple[str, str]], part: str) -> str:
    """What the one cell printed that has this in it."""
    (printed,) = (printed for source, printed in cells if part in source)
    return printed


def test_it_offers_models_and_a_link() -> None:
    text = NOTEBOOK.read_text("utf-8")
    for said in (".gguf", "meta-llama/Llama-3.1-8B-Instruct", "FOUR_BIT = True", "SHARE = True"):
        assert said in text


def test_where_it_is_installed_from_is_asked_for_before_anything_is_done() -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbclient and ipykernel come with `test`")
    parameters, first = [
        one.source for one in nbformat.read(NOTEBOOK, as_version=4).cells if one.cell_type == "code"
    ][:2]
    given: dict[str, object] = {}
    exec(parameters, given)
    assert "/OWNER/" in str(given["SOURCE"])
    with pytest.raises(SystemExit, match=r"SOURCE.*OWNER"):
        exec(first.partition("\nif SOURCE:")[0], given)


@pytest.mark.slow
@pytest.mark.nightly
def test_it_heals_shows_its_times_and_serves_the_page(home: Path) -> None:
    cells = ran(home)
    assert "mock" in said_by(cells, "selfheal plan")
    healed = said_by(cells, "def show")
    for fact in ("healed", "E1", "isolated", "mock", "\nrepair "):
        assert fact in healed
    assert "-    if days < free:\n+    if days <= free:\n" in healed
    assert "E1" in said_by(cells, "%%heal") and "MODEL" in said_by(cells, "userdata")
    page = said_by(cells, "Popen")
    assert "local URL" in page and "public URL" not in page
    assert said_by(cells, "urlopen") == "200\n0\n"
