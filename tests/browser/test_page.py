"""What a person sees on the page: with recorded runs, and with the engine itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from agent.core.domain import Report, Verdict
from agent.core.events import Judged, LogEntry, TestInfo, TestsFrozen
from agent.report.result import fold
from demo.views.bench import workbench
from evaluation.screenshots import PICTURES, take_screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
REPEATED_IDS = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((item) => item.id).filter(Boolean);
  return ids.filter((id, place) => ids.indexOf(id) !== place);
}"""
UNNAMED = """() => [...document.querySelectorAll("button, input, textarea, [role=textbox]")]
  .filter((item) => item.offsetParent !== null)
  .filter((item) => !item.textContent.trim() && !item.getAttribute("aria-label")
    && !item.getAttribute("aria-labelledby") && !item.title && !(item.labels || []).length)
  .map((item) => item.outerHTML.slice(0, 200))"""


NO_CLIPBOARD = """() => {
  Object.defineProperty(navigator, "clipboard", { value: undefined });
  document.addEventListener("copy", () => { window.taken = document.activeElement.value; });
}"""
"""A browser without a clipboard, which notes what is copied by the old way."""
IN_EDITOR = "() => document.activeElement.closest('.cm-editor') !== null"


def heal(page: Page, *, code: str = "", tests: str = "", words: str = "") -> None:
    for place, text in (("#code", code), ("#tests", tests)):
        page.locator(f"{place} .cm-content").fill(text)
    page.locator("#words textarea").fill(words)
    page.locator("button#heal").click()


HEALED = "healed|open"
"""Where others fit the tests as well, the question is open."""


def ended(page: Page, outcome: str) -> None:
    """A run has ended so, as its class says."""
    expect(page.locator("#bench .bench[data-phase=finished]")).to_have_class(
        re.compile(rf"\bis-({outcome})\b")
    )


def review_wanted(page: Page) -> None:
    """Has the page ask before accepting a repair."""
    page.locator("#options button").first.click()
    page.locator("#autonomy input").click()
    page.get_by_role("option").nth(1).click()


def fits(page: Page) -> None:
    whole, seen = page.evaluate(WIDTHS)
    assert whole <= seen


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(1440, 900), (390, 844)], ids=["desk", "phone"])
@pytest.mark.nightly
def test_the_page_fits_its_window_before_and_after_a_run(recorded_page: Any) -> None:
    def judged(number: int) -> Judged:
        name = f"test_shop.py::TestBasket::test_{'a_discount_' * 4}[gold-3]"
        one = Verdict(name=name, test=name, origin="user", status="failed")
        return Judged(iteration=number, report=Report(solution=str(number), verdicts=(one,)))

    page = recorded_page.page
    fits(page)
    heal(page, words="healed")
    ended(page, "healed")
    fits(page)
    assert page.evaluate(REPEATED_IDS) == []
    assert page.evaluate(UNNAMED) == []

    test = judged(0).report.verdicts[0].name
    code = f"def test_{'a' * 300}():\n    assert price(**{{{'key: 1, ' * 60}}}) == 1"
    frozen = TestsFrozen(tests=(TestInfo(name=test, origin="user", code=code),))
    shown = workbench(fold(
        LogEntry(run="r", seq=number, task="t", attempt=1, ordinal=number, at=number,
                event=judged(number) if number else frozen)
        for number in range(12)
    ))
    page.locator("#bench").evaluate("(bench, html) => { bench.innerHTML = html }", shown)
    pane = page.locator(".matrix .scroll")
    assert pane.locator(".cell").count() == 11
    fits(page)  # on a phone the table scrolls beside its tests
    assert pane.locator("tr.row th").bounding_box()["width"] >= 140
    table = pane.locator("table")
    before = table.bounding_box()["width"]
    pane.locator("tr.row th").click()
    expect(pane.locator(".source")).to_be_visible()
    assert table.bounding_box()["width"] == before


def test_a_pasted_program_ends_with_patch_matrix_and_proof(recorded_page: Any) -> None:
    page = recorded_page.page
    heal(page, code="def f(): ...", tests="assert f()")
    ended(page, "healed")
    expect(page.locator(".patch .added code")).to_contain_text("days_kept <= free_days")
    expect(page.locator(".matrix .cell.failed").first).to_be_visible()
    page.locator("#tab-proof").click()
    expect(page.locator(".ladder .reached").first).to_be_visible()
    page.get_by_text("late_fee(14) == 0", exact=True).first.click()
    expect(page.locator(".opened dd:visible").first).to_be_visible()
    for name, fact in (("patch", "--- a/fee.py"), ("tests", "late_fee(14)")):
        with page.expect_download() as taken:
            page.locator(f"a.download[href$={name}]").click()
        assert fact in Path(taken.value.path()).read_text(encoding="utf-8")
    page.evaluate(NO_CLIPBOARD)
    page.locator("button.share").click()
    page.wait_for_function("() => window.taken === location.href")
    page.locator("#code .cm-content").press("Enter")
    expect(page.locator("#bench")).to_have_class(re.compile(r"\bstale\b"))
    page.locator("button#heal").click()
    expect(page.locator("#tab-patch")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#bench")).not_to_have_class(re.compile(r"\bstale\b"))


@pytest.mark.nightly
def test_a_run_and_typed_text_survive_a_reload(recorded_page: Any, tmp_path: Path) -> None:
    first, gate = recorded_page.page, tmp_path / "gate"
    heal(first, code="x = 1", words=f"healed held by {gate}")
    expect(first.locator(".timeline .moment").first).to_be_visible()
    second = recorded_page.open()
    expect(second.locator("#code .cm-content")).to_have_text("")
    heal(second, words="unresolved")
    ended(second, "unresolved")

    recorded_page.reload()
    editor = first.locator("#code .cm-content")
    expect(editor).to_have_text("x = 1")
    expect(first.locator("button#stop")).to_be_enabled()
    expect(first.locator(".verdict")).to_contain_text("342")  # the last word until the end
    expect(first.locator("button#heal")).to_be_disabled()
    editor.click()
    first.keyboard.press("Control+Enter")
    first.wait_for_function("""() => {
      const clock = document.querySelector("#bench .clock");
      return clock && parseFloat(clock.textContent) > Number(clock.dataset.elapsed) + 1;
    }""")
    assert editor.inner_text() == "x = 1"
    cell = first.locator("[data-cell]").first
    cell.click()
    first.locator("#tab-trace").click()
    steps = first.locator(".moment").count()
    gate.touch()
    expect(first.locator(".moment").nth(steps)).to_be_attached()  # of an ended run it is folded
    expect(cell).to_have_attribute("aria-expanded", "true")
    ended(first, "healed")
    expect(first.locator("#tab-trace")).to_have_attribute("aria-selected", "true")
    expect(first.locator("button#heal")).to_be_enabled()
    second.reload()
    ended(second, "unresolved")


@pytest.mark.parametrize("size", [
    (390, 844), pytest.param((1280, 720), marks=pytest.mark.nightly),
], ids=["phone", "desk"])
@pytest.mark.nightly
def test_a_link_shows_its_run_and_stop_ends_a_waiting_one(recorded_page: Any) -> None:
    page = recorded_page.page
    for state, part in (("unresolved", ".status"), ("waiting", "#review .added")):
        heal(page, words=state)
        expect(page.locator(part)).to_be_in_viewport()
        page.evaluate("localStorage.clear()")  # by its address alone
        other = recorded_page.open(page.url[page.url.index("?"):])
        expect(other.locator(part)).to_be_in_viewport()
        expect(other.locator(".partial")).to_have_count(int(state == "unresolved"))
    other.locator("button#stop").click()
    ended(other, "cancelled")
    expect(other.locator("#review")).to_be_hidden()
    expect(other.locator("button#heal")).to_be_enabled()


@pytest.mark.nightly
def test_a_heal_can_be_stopped_while_the_page_loads(recorded_page: Any, tmp_path: Path) -> None:
    page, held = recorded_page.page, []
    page.route("**/queue/join?*", lambda route: held.append(route))
    recorded_page.reload()
    page.locator("#words textarea").fill(f"healed held by {tmp_path / 'gate'}")
    waits_for(page, held, 1)
    page.locator("button#heal").click()
    waits_for(page, held, 2)
    held[0].continue_()  # nothing was to be followed, and by now something is begun
    page.wait_for_timeout(1_500)
    held[1].continue_()
    expect(page.locator(".timeline .moment").first).to_be_visible()
    page.locator("button#stop").click()
    ended(page, "cancelled")
    expect(page.locator("button#heal")).to_be_enabled()


def waits_for(page: Page, held: list[Route], many: int) -> None:
    for _ in range(1_000):
        if len(held) >= many:
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"{len(held)} of {many} requests were made")


def test_unusable_input_gets_a_message_and_hostile_text_never_runs(recorded_page: Any) -> None:
    page = recorded_page.page
    heal(page, tests="assert f()")
    expect(page.locator("#said .sentence")).to_be_visible()
    expect(page.locator("#tests .cm-content")).to_have_text("assert f()")
    expect(page.locator("button#heal")).to_be_enabled()
    canaries = (
        "<img src=x onerror=window.pwned=1> ${window.pwned=1} `+(window.pwned=1)+` "
        r"\d+\n <script>window.pwned=1</script> {{value}}"
    )
    page.locator("#words textarea").fill(f"healed saying {canaries}")
    page.locator("#words textarea").press("Control+Enter")
    ended(page, "healed")
    expect(page.locator(".diagnosis [data-at='0'] .cause")).to_contain_text(canaries)
    expect(page.locator(".patch code").first).to_contain_text(canaries)
    assert page.evaluate("window.pwned") is None


CRASHES = """shelf = ["moss", "fern"]
for place in range(3):
    print(place, shelf[place])
"""
WRONG = """def postage(grams):
    if grams > 100:
        return 2
    return 1
"""


@pytest.mark.nightly
def test_a_wrong_function_is_healed_with_proof_and_a_crash_only_stopped(page: Any) -> None:
    badge, layers = (page.page.locator(f"#plan {one}") for one in (".badge.level", ".jail li"))
    expect(badge).to_have_text(re.compile(r"L[1-4]"))
    expect(layers.first).to_be_hidden()
    badge.click()
    expect(layers.first).to_be_visible()
    fits(page.page)
    heal(page.page, code=WRONG,
         tests="assert postage(99) == 1\nassert postage(100) == 2\nassert postage(150) == 2\n")
    ended(page.page, "healed")
    expect(page.page.locator(".verdict [class^=level-E]")).to_be_visible()
    expect(page.page.locator(".patch .added").first).to_be_visible()
    expect(page.page.locator(".matrix .cell.passed").first).to_be_visible()
    expect(page.page.locator(".bench .badge.level")).to_have_text(badge.inner_text())
    fits(page.page)
    page.page.locator("button.use").click()
    healed = page.page.locator(".patch .added code").first.inner_text()
    expect(page.page.locator("#code .cm-content")).to_contain_text(healed.strip())
    heal(page.page, code=CRASHES)
    ended(page.page, "crash-stopped")
    expect(page.page.locator(".verdict .level-E0")).to_be_visible()
    expect(page.page.locator(".patch .added").first).to_be_visible()


@pytest.mark.nightly
def test_a_repair_is_changed_judged_and_approved_in_each_tab_that_follows_it(page: Any) -> None:
    shown = page.page
    review_wanted(shown)
    heal(shown, code="def add(a, b):\n    return a - b\n", tests="assert add(2, 3) == 5")
    expect(shown.locator(".bench.is-awaiting-review")).to_be_visible()
    ready_to_edit(shown)
    second = page.open(shown.url[shown.url.index("?"):])
    expect(second.locator("#review")).to_be_visible()
    ready_to_edit(second)
    second.locator("#edited .cm-content").fill("def add(a, b):\n    return sum((a, b))\n")
    second.locator("button#bring").click()
    for one in (shown, second):
        expect(one.locator(".patch")).to_contain_text("sum((a, b))")
    expect(shown.locator("#review")).to_be_visible()
    fits(shown)
    expect(shown.locator("#edited .cm-content")).to_contain_text("sum((a, b))")
    shown.locator("#edited .cm-content").fill("x = 1")
    shown.wait_for_timeout(1_500)  # whatever else comes has done so, and left what is typed
    expect(shown.locator("#edited .cm-content")).to_have_text("x = 1")
    for one in (shown, second):  # both approve: the later answer finds the question closed
        one.locator("button#approve").evaluate("(one) => one.click()")
    for one in (shown, second):
        ended(one, HEALED)
        expect(one.locator("#review")).to_be_hidden()


def ready_to_edit(page: Page) -> None:
    """Once first shown, an editor takes in again what it was given: nobody types as soon."""
    page.locator("#change > button").click()
    expect(page.locator("#edited .cm-content")).to_contain_text("a + b")
    page.wait_for_timeout(500)


@pytest.mark.nightly
def test_the_keyboard_alone_heals_and_approves(recorded_page: Any) -> None:
    shown, keys = recorded_page.page, recorded_page.page.keyboard

    def tab_to(part: Locator) -> None:
        for _ in range(120):
            if part.evaluate("(part) => part === document.activeElement"):
                return
            if shown.evaluate(IN_EDITOR):
                keys.press("Escape")
            keys.press("Tab")
        raise AssertionError(f"the Tab key does not reach {part}")

    tab_to(shown.locator("#code .cm-content"))
    keys.insert_text("def add(a, b):\n    return a - b\n")
    tab_to(shown.locator("#tests .cm-content"))
    keys.insert_text("assert add(2, 3) == 5")
    tab_to(shown.locator("#words textarea"))
    keys.insert_text("waiting")
    tab_to(shown.get_by_role("button", name="Options"))
    keys.press("Enter")
    tab_to(shown.get_by_label("Ask me"))
    expect(shown.get_by_role("option", name="before accepting a repair")).to_be_visible()
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(shown.get_by_label("Ask me")).to_have_value("before accepting a repair")
    tab_to(shown.locator("#tests .cm-content"))
    keys.press("Control+Enter")
    expect(shown.locator("#review")).to_be_visible()
    expect(shown.locator("#tests .cm-content")).to_be_focused()
    tab_to(shown.get_by_role("button", name="Approve the patch"))
    keys.press("Enter")
    ended(shown, "healed")
    expect(shown.locator("#review")).to_be_hidden()


@pytest.mark.nightly
def test_a_card_or_a_task_in_words_is_filled_in_and_healed_by_one_click(page: Any) -> None:
    page.page.locator("button.try").click()
    ended(page.page, "healed")
    expect(page.page.locator("#code .cm-content")).to_contain_text("late_fee")
    expect(page.page.locator("button#heal")).to_be_enabled()
    page.page.get_by_role("button", name="Count the words").click()
    expect(page.page.locator(".matrix")).to_contain_text("word_count(")
    ended(page.page, "healed")


@pytest.mark.nightly
def test_what_heals_is_in_view_at_once_and_stays_where_it_is(page: Any) -> None:
    heals, hint = page.page.locator("button#heal"), page.page.locator("#needs-model")
    expect(hint).not_to_be_empty()
    said = hint.inner_html()
    for width, height in ((1280, 720), (390, 844)):
        page.page.set_viewport_size({"width": width, "height": height})
        hint.evaluate("(hint, said) => { hint.innerHTML = said }", said)
        box = heals.bounding_box()
        hint.evaluate("(hint) => hint.replaceChildren()")  # as before it comes, and with a model
        assert box["y"] + box["height"] <= height
        assert heals.bounding_box() == box
        fits(page.page)
    page.page.set_viewport_size({"width": 1440, "height": 900})  # of the next window too


@pytest.mark.nightly
def test_clicks_and_typing_count_while_the_page_loads(recorded_page: Any) -> None:
    page = recorded_page.page
    page.goto(recorded_page.home, wait_until="commit")
    heal(page, code="def g(n):\n    return n - 1\n", tests="assert g(1) == 2", words="healed")
    ended(page, "healed")
    held = list[Any]()
    page.route("**/gradio_api/run/**", lambda one: held.append(one))
    with page.expect_request("**/gradio_api/run/**"):
        page.goto(recorded_page.home)
    recorded_page.errors.clear()  # the old page's stream has broken off
    page.locator("#code .cm-content").fill("x = 1")
    for one in held:
        one.continue_()
    page.unroute("**/gradio_api/run/**")
    expect(page.locator("button#heal")).to_be_enabled()
    page.wait_for_timeout(300)  # whatever else arrives has done so
    expect(page.locator("#code .cm-content")).to_have_text("x = 1")
    recorded_page.reload()
    expect(page.locator("#code .cm-content")).to_contain_text("def g(n)")
    expect(page.locator("button#heal")).to_be_enabled()  # nothing of it is still on its way


PRICE = "def price(n):\n    if n > 10:\n        return n * 2\n    return n * 3\n"


@pytest.mark.nightly
def test_an_open_question_is_answered_by_value_or_click_after_reload(page: Any) -> None:
    watched, page = page, page.page
    heal(page, code=PRICE, tests="assert price(10) == 20\nassert price(9) == 27")
    ended(page, HEALED)
    expect(page.locator("#asked")).to_contain_text("price(11)")
    watched.reload()
    fits(page)
    before = page.url
    written = page.locator("#written :is(input, textarea)")
    written.fill("n * 4")
    page.locator("button#write").click()
    expect(page.locator("#wrong .sentence")).to_be_visible()
    expect(written).to_have_value("n * 4")
    fits(page)
    written.fill("44")
    written.press("Enter")
    expect(page.locator("#wrong .sentence")).to_contain_text("None of the patches")
    written.press("Enter")
    page.wait_for_function("before => location.href !== before", arg=before)
    expect(page.locator(".matrix")).to_contain_text("price(11) == 44")
    expect(page.locator("#question")).to_be_hidden()

    page = watched.open(before[before.index("?"):])
    page.locator("button#choice-1").click()
    page.wait_for_function("before => location.href !== before", arg=before)
    ended(page, HEALED)
    expect(page.locator(".patch .added")).to_contain_text("n == 10")
    expect(page.locator(".matrix")).to_contain_text("price(11) == 33")
    expect(page.locator("#question")).to_be_hidden()


@pytest.mark.nightly
def test_the_documented_pictures_show_this_page(browser: Browser, home: str) -> None:
    first = next(one for one in PICTURES if not one.healed)
    shot = take_screenshot(browser, home, first)
    assert shot.startswith(b"\x89PNG") and 10_000 < len(shot) < 150_000


@pytest.mark.nightly
def test_typed_text_is_replaced_only_after_a_question(recorded_page: Any) -> None:
    page, code = recorded_page.page, recorded_page.page.locator("#code .cm-content")
    fee = {"name": "fee.py", "mimeType": "text/x-python", "buffer": b"def f(): ...\n"}
    files, sent = page.locator("#files input[type=file]"), page.locator("#files .sent")
    heal(page, code="x = 1", tests="assert f()", words="healed")
    ended(page, "healed")
    files.set_input_files(fee)  # what was typed was healed: nothing is lost with it
    expect(sent).to_have_text("fee.py")
    expect(code).to_have_text("")
    expect(page.locator("#tests .cm-content")).to_have_text("")

    heal(page, tests="assert f()", words="healed")
    ended(page, "healed")
    page.locator("#words textarea").fill("more words")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.locator("button.use").click()
    expect(sent).to_have_text("fee.py")
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator("button.use").click()
    expect(sent).not_to_contain_text("fee.py")
    expect(code).to_contain_text("def late_fee")

    code.fill("x = 1")
    for answer, text in (("dismiss", "x = 1"), ("accept", "")):
        page.once("dialog", lambda dialog, answer=answer: getattr(dialog, answer)())
        files.set_input_files([])
        code.press("End")
        code.press("Backspace")
        code.press("1")
        files.set_input_files(fee)
        expect(code).to_have_text(text)


@pytest.mark.nightly
def test_a_server_that_is_full_says_so_and_the_panel_is_asked_again(recorded_page: Any) -> None:
    page = recorded_page.page
    heal(page, words="waiting")
    expect(page.locator(".bench[data-phase=waiting]")).to_be_visible()
    full = {"detail": "There were too many requests: wait.", "error": "the same"}
    page.route("**/gradio_api/**", lambda route: route.fulfill(
        status=429, json=full, headers={"retry-after": "2"},
    ))
    page.locator("button#approve").click()  # its stream is refused too
    page.get_by_role("tab", name="Benchmarks").click()
    expect(page.locator("#away")).to_have_text(full["detail"])
    page.unroute("**/gradio_api/**")
    expect(page.locator("#away")).to_be_empty()
    expect(page.locator("#benchmarks-list pre").first).to_be_visible()
    page.get_by_role("tab", name="Heal", exact=True).click()
    page.locator("button#approve").click()
    ended(page, "healed")
    recorded_page.errors.clear()
