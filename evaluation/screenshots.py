"""Takes the screenshots of the page for README and docs: `make screenshots`.

The page is served without a model and with an empty memory, and a real browser heals its first
example.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from evaluation.bench import ROOT, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM_OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)
APP = ROOT / "app.py"
PATIENCE_S = 180.0
COLOURS = 128
"""The number of colours of a screenshot, which reduces its size to a third."""


@dataclass(frozen=True)
class Picture:
    """A screenshot of the page in a window of this size."""

    name: str
    width: int
    height: int
    theme: Literal["light", "dark"]
    healed: bool
    """Whether the first example is healed before the screenshot is taken."""


PICTURES = (
    Picture("page", 1440, 900, "light", healed=True),
    Picture("page-first", 1280, 720, "dark", healed=False),
    Picture("page-phone", 390, 844, "light", healed=True),
)


def take_screenshot(browser: Browser, address: str, picture: Picture) -> bytes:
    from PIL import Image  # a dependency of gradio
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
    page.wait_for_timeout(1000)  # for animations to end
    shot = Image.open(BytesIO(page.screenshot()))
    context.close()
    small = BytesIO()
    shot.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        small, "PNG", optimize=True
    )
    return small.getvalue()


@contextmanager
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise SystemExit("Chromium was not found: install Debian's package `chromium`.")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=list(CHROMIUM_OPTIONS))
        yield launched
        launched.close()


def main(folder: Path) -> None:
    with browser() as chromium:
        for picture in PICTURES:
            with tempfile.TemporaryDirectory() as data, served(APP, Path(data)) as server:
                shot = take_screenshot(chromium, server.address, picture)
            path = folder / f"{picture.name}.png"
            path.write_bytes(shot)
            print(f"{path.name}: {len(shot) // 1024} KiB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
