"""Takes the pictures that README and documents show, from the page as it ships: `make screenshots`.

The page is served without a model and with an empty memory, and a real browser heals its first
example.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parent.parent
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)
PATIENCE_S = 180.0
COLOURS = 128
"""Of a picture: a page has few, and a picture of so many takes a third of the bytes."""


@dataclass(frozen=True)
class Picture:
    """A picture of the page, in a window of some size."""

    name: str
    width: int
    height: int
    theme: Literal["light", "dark"]
    healed: bool
    """Whether its first example was healed before."""


PICTURES = (
    Picture("page", 1440, 900, "light", healed=True),
    Picture("page-first", 1280, 720, "dark", healed=False),
    Picture("page-phone", 390, 844, "light", healed=True),
)


@contextmanager
def served(saved: Path) -> Iterator[str]:
    """The address of the page, with what it saves in a folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ, "LLM_PROVIDER": "mock", "PORT": str(port), "HEAL_DATA_DIR": str(saved),
        "GRADIO_SERVER_NAME": "127.0.0.1", "PYTHONPATH": str(ROOT),
    }
    page = subprocess.Popen(
        [sys.executable, str(ROOT / "app.py")], cwd=saved, env=environment,
        stdout=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}/"
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not _answers(address):
            if page.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the page cannot be served")
            time.sleep(0.2)
        yield address
    finally:
        page.terminate()
        page.wait()


def taken(browser: Browser, address: str, picture: Picture) -> bytes:
    """A picture of the page as PNG."""
    from PIL import Image  # it comes with gradio
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE_S * 1000)
    context = browser.new_context(viewport={"width": picture.width, "height": picture.height})
    page = context.new_page()
    page.goto(f"{address}?__theme={picture.theme}")
    expect(page.locator("button#heal")).to_be_enabled()
    if picture.healed:
        page.locator("#chips button").first.click()
        expect(page.locator(".bench[data-phase=finished]")).to_be_visible()
    page.mouse.move(0, 0)
    page.wait_for_timeout(1000)  # what moves comes to rest
    shot = Image.open(BytesIO(page.screenshot()))
    context.close()
    small = BytesIO()
    shot.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        small, "PNG", optimize=True
    )
    return small.getvalue()


def main(folder: Path) -> None:
    """Takes all pictures into a folder."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise SystemExit("There is no Chromium here: install Debian's package `chromium`.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        for picture in PICTURES:
            with tempfile.TemporaryDirectory() as saved, served(Path(saved)) as address:
                shot = taken(browser, address, picture)
            path = folder / f"{picture.name}.png"
            path.write_bytes(shot)
            print(f"{path.name}: {len(shot) // 1024} KiB")
        browser.close()


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except (urllib.error.URLError, TimeoutError):
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
