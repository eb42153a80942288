"""The page of a report in Chromium: what readers see, do and hear; skipped where there is no browser.

``KNNCCV_CHROMIUM`` names the program and ``KNNCCV_AXE`` the file ``axe.min.js``, if they are elsewhere than
on the path and in ``node_modules``.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import report_example as example

for _needed in ("altair", "jinja2"):
    pytest.importorskip(_needed, reason=f"{_needed} is not installed; the extra [report] has it")
sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed; the group browser has it"
)

from knnccv import Report  # noqa: E402

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = os.environ.get("KNNCCV_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
AXE = Path(os.environ.get("KNNCCV_AXE", "node_modules/axe-core/axe.min.js"))
OPTIONS = ["--no-sandbox", "--no-first-run"]
OPTIONS += [
    f"--disable-{part}" for part in ("gpu", "quic", "background-networking", "component-update", "sync")
]
needs_axe = pytest.mark.skipif(
    not AXE.is_file(), reason=f"axe-core is not at {AXE}; KNNCCV_AXE can name its file"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; KNNCCV_CHROMIUM can name the program"),
]


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield running
        running.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Open the page of an answer; no message, error or request is allowed until the end of the test."""
    contexts, troubles = [], []

    def open_page(width=1400, scheme="light", **kind):
        file = tmp_path / "report.html"
        file.write_text(Report(example.answer(**kind)).to_html(), encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            accept_downloads=True,
        )
        contexts.append(context)
        page = context.new_page()

        def guard(route):
            if route.request.url == file.as_uri() or route.request.url.startswith(("data:", "blob:")):
                route.continue_()
            else:
                troubles.append(route.request.url[:200])
                route.abort()

        page.route("**/*", guard)
        page.on("console", lambda message: troubles.append(f"{message.type}: {message.text[:300]}"))
        page.on("pageerror", lambda error: troubles.append(str(error)[:300]))
        page.goto(file.as_uri())
        page.wait_for_selector(f"html[data-drawn={scheme}][data-table]", timeout=20_000)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def column(page, place):
    return page.locator(
        f"#item-table tbody:not([hidden]) > tr:first-child > :nth-child({place})"
    ).all_inner_texts()


def downloaded(page, button):
    with page.expect_download() as download:
        page.locator(button).click()
    return Path(download.value.path()).read_text(encoding="utf-8")


def test_pictures_are_drawn_and_the_table_is_sorted_by_the_keyboard(opened):
    page = opened()
    for name in ("scores", "settings", "learning", "confusion", "ties"):
        box = page.locator(f"#chart-{name} svg").bounding_box()
        assert box["width"] > 200
        assert box["height"] > 60
        assert page.locator(f"[role=img]:has(> #chart-{name})").get_attribute("aria-label")
    button = page.locator("#item-table th[data-key=score] button")
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("th[data-key=score]").get_attribute("aria-sort") == "ascending"
    scores = [float(text) for text in column(page, 3)]
    assert scores == sorted(scores)
    page.keyboard.press("Space")
    assert page.locator("th[data-key=score]").get_attribute("aria-sort") == "descending"
    assert [float(text) for text in column(page, 3)] == sorted(scores, reverse=True)


def test_pointing_at_a_curve_shows_its_values(opened):
    page = opened()
    for name, words in {
        "scores": ["accuracy"],
        "settings": ["setting", "K", "accuracy", "error at most", "against the best"],
        "learning": ["K = ", "size of the training sets", "accuracy"],
        "confusion": ["true class", "predicted", "expected share", "%"],
    }.items():
        page.locator(f"#chart-{name}").scroll_into_view_if_needed()
        chart = page.locator(f"#chart-{name} svg")
        if name == "scores":
            chart = page.locator("#chart-scores svg .mark-symbol path").first
        elif name == "confusion":
            chart = page.locator("#chart-confusion svg .mark-rect path").first
        box = chart.bounding_box()
        x, y = box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5
        page.mouse.move(x - 3, y)
        page.mouse.move(x, y, steps=4)
        tooltip = page.locator("#vg-tooltip-element.visible")
        tooltip.wait_for(timeout=5000)
        text = tooltip.inner_text()
        assert all(word in text for word in words), (name, text)
        assert "undefined" not in text
        assert "NaN" not in text
        page.mouse.move(2, 2)


def test_the_legend_picks_lines_and_the_scheme_may_change(opened):
    page = opened()
    lines = page.locator("#chart-settings svg .mark-line path[stroke-width='2']")
    faint = page.locator("#chart-settings svg .mark-line path[stroke-width='2'][opacity='0.08']")
    before = lines.count()
    assert faint.count() == 0
    page.locator("#chart-settings svg .role-legend-label text", has_text="standardized").click()
    sync_api.expect(faint).to_have_count(before * 2 // 3)
    light = page.locator("#chart-settings svg").inner_html()
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-drawn=dark]")
    sync_api.expect(lines).to_have_count(before)
    assert page.locator("#chart-settings svg").inner_html() != light


def test_the_table_is_searched_filtered_and_exported(opened):
    answer = example.answer()["items"]["items"]
    ordered = sorted(answer, key=lambda item: item["index"])
    page = opened()
    found = page.locator("#items-found")
    n_all = len(answer)
    assert found.inner_text() == f"{n_all} of {n_all} samples shown"
    page.locator("#item-search").fill("CLASS 2")
    wanted = [item["index"] for item in answer if "class 2" in "\n".join([item["label"], *item["row"]])]
    assert found.inner_text() == f"{len(wanted)} of {n_all} samples shown"
    assert [int(text) for text in column(page, 1)] == wanted
    page.locator("#item-search").fill("")
    page.locator("#item-reason").select_option("suspicious label")
    wanted = [item for item in answer if "suspicious label" in item["reasons"]]
    assert [int(text) for text in column(page, 1)] == [item["index"] for item in wanted]
    assert json.loads(downloaded(page, "#items-json")) == [
        {key: item[key] for key in ("index", "score", "influence", "reasons")} for item in wanted
    ]
    lines = downloaded(page, "#items-csv").splitlines()
    assert lines[0] == "index,score,influence,reasons"
    assert [int(line.partition(",")[0]) for line in lines[1:]] == [item["index"] for item in wanted]
    lines = downloaded(page, "#items-all").splitlines()
    assert lines == [
        "index,reasons",
        *(f"{item['index']},{'; '.join(item['reasons'])}" for item in ordered),
    ]
    page.locator("#items-copy").click()
    sync_api.expect(found).to_have_text(f"{len(wanted)} indices copied")
    assert downloaded(page, "button.save[data-chart=scores][data-format=svg]").startswith("<svg")


def test_an_item_shows_its_neighbors_beside_it(opened):
    page = opened()
    item = example.answer()["items"]["items"][0]
    button = page.locator("button.more").first
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    rows = page.locator("#item-table tbody").first.locator(".neighbors tbody tr").all()
    assert len(rows) == 2 + 4
    assert rows[2].locator("td").all_inner_texts() == [
        item["row"][0],
        *(other["row"][0] for other in item["neighbors"]),
    ]
    page.keyboard.press("Enter")
    assert page.locator(".neighbors").count() == 0


def test_targets_and_reasons_read_as_on_the_page(opened, monkeypatch):
    answer = example.answer("regression")
    answer["items"]["indices"] = {"worst_residuals": [4], "conflicting_duplicates": [4, 7]}
    answer["items"]["items"][0]["label"] = "705958.0"
    monkeypatch.setattr(example, "answer", lambda: answer)
    page = opened()
    assert downloaded(page, "#items-all").splitlines() == [
        "index,reasons",
        "4,large expected error; duplicate with another target",
        "7,duplicate with another target",
    ]
    page.locator("button.more").first.click()
    assert page.locator(".neighbors tbody tr").first.locator("td").first.inner_text() == "705958"


def test_neighbors_are_in_view_where_the_table_is_scrolled_sideways(opened):
    page = opened(width=400, kind="hostile")
    page.locator("button.more").first.click()
    region = page.locator(".scroll.items")
    region.evaluate("node => { node.scrollLeft = node.scrollWidth; }")
    outer, inner = region.bounding_box(), page.locator(".neighbors .scroll").bounding_box()
    assert outer["x"] <= inner["x"] < inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
    name = page.locator(".neighbors tbody th").nth(2).bounding_box()
    assert name["width"] < 0.5 * inner["width"]
    over = "([x, y]) => document.elementFromPoint(x, y).closest('th')?.dataset.key ?? null"
    region.evaluate("node => { node.scrollLeft = 0; node.scrollTop = 120; }")
    box = page.locator("#item-table > thead th").first.bounding_box()
    assert page.evaluate(over, [box["x"] + 20, box["y"] + box["height"] / 2]) == "index"


MANY = {"n_classes": 30, "n_neighbors": 1}
WIDE = "[document.documentElement.scrollWidth, innerWidth]"


@pytest.mark.parametrize(
    "kind",
    [
        *({}, {"n_classes": 2, "intervals": False}, {"n_features": 300}),
        *(MANY, {"n_classes": 70, "n_neighbors": 1, "n_shown": 0}),
        *({"kind": kind} for kind in ("regression", "mixed", "hostile")),
    ],
    ids=lambda kind: "-".join(map(str, kind.values())) or "plain",
)
def test_narrow_pages_do_not_scroll_sideways(opened, kind):
    page = opened(width=400, scheme="dark", **kind)
    if page.locator("button.more").count():
        page.locator("button.more").first.click()
    scroll, inner = page.evaluate(WIDE)
    assert scroll <= inner
    page.set_viewport_size({"width": 1400, "height": 900})
    scroll, inner = page.evaluate(WIDE)
    assert scroll <= inner


def test_hostile_content_is_shown_and_not_executed(opened):
    page = opened(kind="hostile")
    page.locator("button.more").first.click()
    shown = page.locator("#item-table").text_content()
    for name in ("script", "image", "closing", "quotes", "long word", "template", "formula", "emoji"):
        assert example.HOSTILE[name] in shown, name
    cells = page.locator(".neighbors tbody tr").nth(2 + 7).locator("td").all_text_contents()
    assert cells == ["bell␇ null␀ escape␛[31m line\nbreak tab\tend"] * 4
    page.locator("#item-search").fill(example.HOSTILE["script"])
    page.locator("#chart-confusion").scroll_into_view_if_needed()
    page.locator("#chart-confusion svg .mark-rect path").first.hover(force=True)
    page.locator("#vg-tooltip-element.visible").wait_for()
    assert "<img src=x" in page.locator("#vg-tooltip-element").inner_text()
    assert page.evaluate("window.__executed") is None
    box = page.locator("#item-table .long").first.bounding_box()
    assert box["width"] < 400
    assert box["height"] < 60


def test_print_is_white_and_has_no_buttons(opened):
    page = opened(scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#items-csv").is_hidden()
    assert page.locator("nav").is_hidden()
    assert page.locator("#chart-scores svg").is_visible()
    assert len(page.pdf()) > 20_000


@needs_axe
@pytest.mark.parametrize(
    ("scheme", "kind"),
    [("light", {}), ("dark", {"kind": "regression"}), ("dark", {"kind": "hostile"}), ("light", MANY)],
    ids=["plain", "regression", "hostile", "thirty-classes"],
)
def test_axe_finds_no_serious_violation(opened, scheme, kind):
    page = opened(scheme=scheme, width=1000, **kind)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.locator("button.more").first.click()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    bad = [
        (one["id"], one["impact"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert bad == []


def test_the_keyboard_reaches_everything(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(140):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    expected = {"item-search", "item-reason", "items-csv", "items-copy", "more", "copy-code", "save"}
    assert expected <= reached
    page.locator("#copy-code").press("Enter")
    sync_api.expect(page.locator("#code-copied")).to_have_text("copied")
