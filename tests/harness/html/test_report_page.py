# SPDX-License-Identifier: Apache-2.0
"""The page of halyard report in a browser: it shows what it should, to everybody, and runs nothing
that a device or a file has put into it."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from halyard.cli import program
from halyard.records import Document
from halyard.store import Origin, Store
from tests.harness import sample_results as sample
from tests.harness.browser import Browser

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 2</script>",
    '"><img src=x onerror="window.hacked = 3">',
    "<svg onload='window.hacked = 4'>",
    "</style></title></pre></details><iframe srcdoc='<script>top.hacked = 5</script>'>",
    "javascript:window.hacked=6",
    "{{ 7 * 7 }}{% raw %}",
    "-->]]><!--",
    r"$\frac{1}{",
    "_hidden",
    "\x00\x1b[31m\u202eedoc\u2066",
    "é漢🙂" * 30,
    "a" * 3000,
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def page_of(folder: Path, *documents: tuple[str, Document]) -> Path:
    path = folder / "results.db"
    for device, document in documents:
        with Store.open(path) as store:
            store.add(document, origin=Origin("run", device))
    result = CliRunner().invoke(program.cli, ["report", str(path)])
    assert result.exit_code == 0, result.output
    return path.with_suffix(".html")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [
        (device, sample.run(median=median, device=f"serial of {device}"))
        for median in (2.5, 9.0, 10.0)
        for device in ("vm", "a phone")
    ]
    return page_of(
        tmp_path_factory.mktemp("page"),
        *runs,
        ("vm", sample.run(model="broken", ok=False, message="output 0 differs")),
        ("vm", sample.conformance(passed=30, failed=1)),
        ("vm", sample.conformance(passed=30, failed=12)),
        ("a phone", sample.vts()),
        ("host", sample.bench()),
        ("", sample.compare()),
        ("vm", sample.doctor()),
    )


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts as long as real ones: the widest are those that are just not folded."""
    seen = "halyard-default is not in the device's VINTF manifest"
    fix = "put its fragment into /vendor/etc/vintf/manifest there"
    command = "halyard deploy --device vm:lab --instance halyard-default --wires hidl,aidl --work"
    run = sample.run(model="mobilenet_v2_1.0_224_quant_from_a_file.tflite", device="vm:lab")
    fingerprint = "google/husky/husky:14/UP1A.231105.001/10817346:user/release-keys"
    return page_of(
        tmp_path_factory.mktemp("long"),
        ("vm:lab", run),
        ("vm:lab", msgspec.structs.replace(run, driver=fingerprint)),
        ("vm:lab", sample.pair()),
        ("vm:lab", sample.doctor(seen=seen, fix=fix, command=command)),
        ("", sample.compare(model="mobilenet_v2_1.0_224_quant_from_a_file.tflite")),
    )


def texts(browser: Browser, selector: str) -> list[str]:
    found: list[str] = browser.value(
        f"Array.from(document.querySelectorAll(`{selector}`), (each) => each.textContent.trim())"
    )
    return found


# ---- as it should be ----------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_complains_of_nothing_and_asks_for_nothing(
    browser: Browser, page: Path, *, dark: bool
) -> None:
    browser.show(page, dark=dark)
    assert browser.complaints == []
    assert browser.requests == [page.as_uri()]
    assert browser.value("document.querySelectorAll('svg.plot').length") >= 5
    assert texts(browser, "h2") == [
        "Summary",
        "Devices",
        "Conformance",
        "Models",
        "Accuracy",
        "Comparison",
        "Timing",
        "Conditions and memory",
        "Placement",
        "Profile",
        "Doctor",
    ]


HEADER = "#timing thead th:nth-child({})"
COLUMN = "#timing tbody td:nth-child({})"


def column(browser: Browser, title: str) -> int:
    return texts(browser, "#timing thead th").index(title) + 1


def test_a_click_on_a_header_sorts_by_its_numbers(browser: Browser, page: Path) -> None:
    """As numbers: 10.0 comes after 2.50."""
    browser.show(page)
    place = column(browser, "Median ms")
    header = HEADER.format(place)
    sorts = f"document.querySelector('{header}').getAttribute('aria-sort')"
    values = [float(each) for each in texts(browser, COLUMN.format(place))]
    assert len(set(values)) > 2
    assert browser.value(sorts) == "none"
    browser.click(f"{header} button")
    assert [float(each) for each in texts(browser, COLUMN.format(place))] == sorted(values)
    assert browser.value(sorts) == "ascending"
    browser.click(f"{header} button")
    reverse = sorted(values, reverse=True)
    assert [float(each) for each in texts(browser, COLUMN.format(place))] == reverse
    assert browser.value(sorts) == "descending"


def test_a_key_on_a_header_sorts_by_its_texts(browser: Browser, page: Path) -> None:
    browser.show(page)
    place = column(browser, "Device")
    names = texts(browser, COLUMN.format(place))
    browser.press(f"{HEADER.format(place)} button", "Enter")
    assert texts(browser, COLUMN.format(place)) == sorted(names)
    assert names != sorted(names)
    sorted_by = "#timing thead th[aria-sort=ascending]"
    assert texts(browser, sorted_by) == ["Device"]


def test_rows_stay_whole_when_they_are_sorted(browser: Browser, page: Path) -> None:
    browser.show(page)
    before = texts(browser, "#timing tbody tr")
    browser.click(f"{HEADER.format(column(browser, 'Median ms'))} button")
    assert texts(browser, "#timing tbody tr") != before
    assert sorted(texts(browser, "#timing tbody tr")) == sorted(before)


def test_every_link_leads_somewhere(browser: Browser, page: Path) -> None:
    browser.show(page)
    broken = browser.value(
        "Array.from(document.querySelectorAll('a'), (each) => each.getAttribute('href'))"
        ".filter((each) => !each.startsWith('#') || !document.getElementById(each.slice(1)))"
    )
    assert broken == []
    twice = browser.value(
        "(() => { const ids = Array.from(document.querySelectorAll('[id]'), (each) => each.id);"
        "return ids.filter((each, place) => ids.indexOf(each) !== place); })()"
    )
    assert twice == []


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("#conformance tbody td:first-child a[href^='#log-']", "output 0 differs"),
        ("#conformance tbody a[href^='#model-']", "ADD -> %1 sum"),
        ("#runs tbody a[href^='#run-']", "output 0 differs"),
    ],
)
def test_a_link_of_a_failed_case_opens_its_log_and_its_model(
    browser: Browser, page: Path, link: str, says: str
) -> None:
    browser.show(page)
    place = browser.value(f"document.querySelector(`{link}`).getAttribute('href')")
    seen = (
        f"(() => {{ const text = document.querySelector('{place} pre');"
        "const box = text.getBoundingClientRect();"
        "return [text.checkVisibility() && box.height > 0, box.top >= 0,"
        "box.top < innerHeight, text.textContent]; })()"
    )
    assert browser.value(seen)[0] is False
    browser.click(link)
    browser.until(f"location.hash === '{place}' && {seen}[0] && {seen}[1]")
    *shown, text = browser.value(seen)
    assert shown == [True, True, True]
    assert says in text


def test_an_address_of_a_log_opens_it(browser: Browser, page: Path) -> None:
    browser.show(page, place="log-3")
    browser.until("document.querySelector('#log-3 pre').checkVisibility()")
    assert not browser.value("document.querySelector('#log-4 pre').checkVisibility()")


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(browser: Browser, page: Path, width: int) -> None:
    """Wider parts scroll within themselves, and can be reached with the keyboard."""
    browser.show(page, width=width)
    browser.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert browser.value("innerWidth") == width
    assert browser.value("document.scrollingElement.scrollWidth") <= width
    wide = browser.value(
        f"Array.from(document.body.querySelectorAll('*')).filter((each) => !each.closest('.scroll')"
        f" && each.getBoundingClientRect().right > {width} + 0.5)"
        ".map((each) => each.outerHTML.slice(0, 100))"
    )
    assert wide == []
    assert browser.value(
        "Array.from(document.querySelectorAll('.scroll')).every((each) => each.tabIndex === 0)"
    )


@pytest.mark.parametrize(
    ("section", "title"),
    [
        ("accuracy", "Verdict"),
        ("compare", "Result"),
        ("runs", "Result"),
        ("timing", "Verdict"),
        ("doctor", "Verdict"),
        ("doctor", "Command"),
    ],
)
def test_what_a_row_comes_to_is_seen_without_scrolling(
    browser: Browser, long_page: Path, section: str, title: str
) -> None:
    browser.show(long_page, width=1280)
    right = browser.value(
        f"Array.from(document.querySelectorAll('#{section} thead th'))"
        f".find((each) => each.textContent === '{title}').getBoundingClientRect().right"
    )
    assert right <= 1280


def test_what_a_row_is_about_stays_where_a_phone_scrolls(browser: Browser, long_page: Path) -> None:
    browser.show(long_page, width=390)
    for section in ("timing", "accuracy", "doctor"):
        seen = browser.value(
            f"(() => {{ const first = document.querySelector('#{section} tbody td:first-child');"
            "const scroll = first.closest('.scroll');"
            "scroll.scrollLeft = scroll.scrollWidth;"
            "const box = first.getBoundingClientRect(), last ="
            " first.parentElement.lastElementChild.getBoundingClientRect();"
            "return [scroll.scrollLeft > 100, box.left >= 0, box.width > 90 && box.width < 180,"
            " last.right <= 391, first.contains(document.elementFromPoint("
            "box.left + 5, (first.scrollIntoView({block: 'center'}),"
            " first.getBoundingClientRect().top + 5)))]; })()"
        )
        assert seen == [True, True, True, True, True], section


CONTRAST = """
(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = parts(colour).slice(0, 3).map((each) => {
      const share = each / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each !== null; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const least = {};
  for (const each of document.querySelectorAll("p, a, td, th button, h1, h2, span, strong, text")) {
    const style = getComputedStyle(each);
    const colour = each.tagName === "text" ? style.fill : style.color;
    const [one, other] = [light(colour), light(behind(each))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < 4.5) least[each.outerHTML.slice(0, 120)] = ratio;
  }
  return least;
})()
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_texts_stand_out_from_what_is_behind_them(
    browser: Browser, page: Path, *, dark: bool
) -> None:
    """By WCAG's 4.5 to 1."""
    browser.show(page, dark=dark)
    behind = browser.value("getComputedStyle(document.body).backgroundColor")
    assert (behind == "rgb(255, 255, 255)") is not dark
    assert browser.value(CONTRAST) == {}


def test_all_is_open_on_paper(browser: Browser, page: Path) -> None:
    browser.show(page)
    browser.value("dispatchEvent(new Event('beforeprint'))")
    assert browser.value("document.querySelectorAll('details:not([open])').length") == 0
    browser.value("dispatchEvent(new Event('afterprint'))")
    assert browser.value("document.querySelectorAll('details[open]').length") == 0
    assert len(browser.call("Page.printToPDF")["data"]) > 1000


# ---- what others have put into it ---------------------------------------------------------------


def test_shows_what_devices_and_files_say_and_runs_none_of_it(
    browser: Browser, tmp_path: Path
) -> None:
    documents: list[tuple[str, Document]] = []
    for text in HOSTILE:
        documents += [
            (text, sample.run(model=text, device=text, ok=False, message=text, label=text)),
            (text, sample.run(model=text, device=text, median=9.0, label=text)),
            (text, sample.conformance(device=text, failed=1, name=text, message=text)),
            (text, sample.conformance(device=text, failed=2, name=text, message=text)),
            (text, sample.vts(device=text, reason=text)),
            (text, sample.bench(model=text)),
            (text, sample.pair(words=text)),
            (text, sample.compare(model=text, label=text)),
            (text, sample.doctor(device=text, seen=text)),
            ("host", sample.run(model=text, median=3.0)),
        ]
    page = page_of(tmp_path, *documents)
    # Characters that control a terminal, or turn the direction of what is read.
    assert not re.findall("[\x00\x1b\u202e\u2066]", page.read_text())
    browser.show(page)
    assert browser.complaints == []
    assert len(browser.requests) == 1
    browser.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert browser.value("typeof window.hacked") == "undefined"
    assert browser.value("document.querySelectorAll('script, style').length") == 2
    assert (
        browser.value("document.querySelectorAll('img, iframe, object, embed, form').length") == 0
    )
    assert browser.value(
        "Array.from(document.querySelectorAll('*')).every((each) =>"
        " each.getAttributeNames().every((name) => !name.startsWith('on') && name !== 'style'))"
    )
    names = texts(browser, "#devices tbody td:first-child")
    assert "<script>window.hacked = 1</script>" in names
    assert "{{ 7 * 7 }}{% raw %}" in names
    assert "\\x00\\x1b[31m\\u202eedoc\\u2066" in names
    browser.show(page, width=360)
    assert browser.value("document.scrollingElement.scrollWidth") <= 360
