"""Every page in a browser, light and dark, wide and at phone width: nothing overflows, text has contrast, no error.

The contrast is computed from the painted colours as WCAG 2.2 defines it (1.4.3): 4.5, or 3 for large text.
"""

import pytest

from tests.marketplace.web.pages import ACCOUNT_PAGES, LOGIN, MEMBER_ACCOUNT_PAGES, PAGES

pytestmark = [pytest.mark.journey, pytest.mark.django_db(transaction=True)]

FIND_POOR_CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = "#000"; canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const over = (top, below) => top.slice(0, 3).map((v, i) => v * top[3] + below[i] * (1 - top[3]));
  const behind = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const node = walker.currentNode.parentElement;
    if (!text || node.closest("script, template, svg, .visually-hidden, .skip-link, .decided, :disabled")) continue;
    if (!node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const ground = behind(node);
    const [light, dark] = [luminance(over(rgba(style.color), ground)), luminance(ground)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${text.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return found;
}"""
FIND_SMALL_TARGETS = """() => [...document.querySelectorAll("button, .btn, input:not([type=hidden]), select, nav a, summary")]
  .filter((node) => node.checkVisibility() && !node.closest(".visually-hidden") && !node.matches(".skip-link, .file-input"))
  .map((node) => [node, node.getBoundingClientRect()])
  .filter(([node, box]) => box.width && (box.height < 20 || box.width < 20))
  .map(([node, box]) => `${node.outerHTML.slice(0, 60)}: ${box.width}x${box.height}`)"""


@pytest.mark.parametrize("width, theme", [(1280, "light"), (375, "dark")])
@pytest.mark.parametrize("who", ["", "ben", "ada", "cleo"])
def test_pages_read_well(who, width, theme, tab, world) -> None:
    window = tab(width, theme)
    if who:
        window.log_in(f"{who}@example.org")
    addresses = [page.address(world) for page in PAGES if page.status(who) not in {LOGIN, 403, 404}]
    addresses += MEMBER_ACCOUNT_PAGES if who == "ben" else ACCOUNT_PAGES if not who else []
    poor = {}
    for address in addresses:
        window.page.goto(address)
        window.page.wait_for_load_state("networkidle") if "chart" in window.page.content() else None
        wide = window.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        found = window.page.evaluate(FIND_POOR_CONTRAST) + window.page.evaluate(FIND_SMALL_TARGETS)
        if wide > 0 or found:
            poor[address] = (wide, found)
    assert poor == {}
    assert window.problems == []


def test_the_contrast_check_sees_poor_text(tab) -> None:
    page = tab().page
    page.goto("/")
    page.evaluate("document.querySelector('h1').style.color = '#cccccc'")
    assert any(one.startswith("Labelled data in") for one in page.evaluate(FIND_POOR_CONTRAST))


def test_the_keyboard_reaches_the_content_first(tab) -> None:
    page = tab().page
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip-link"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_motion_stops_for_those_who_ask(tab) -> None:
    window = tab()
    window.page.emulate_media(reduced_motion="reduce")
    window.page.goto("/network/")
    durations = window.page.evaluate(
        "[...document.querySelectorAll('*')].map((n) => parseFloat(getComputedStyle(n).animationDuration))"
    )
    assert max(durations) < 0.01
