"""The interactive figures in a browser: keys turn their knobs, their numbers are NumPy's, and they read everywhere.

The page holds one figure of each kind, from small data, with the scripts and the style of the book. Without a browser
all of it is skipped, with the reason.
"""

import itertools
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from made_figures import KEPT_STEPS, MOMENTS, answers, figures, loop, networks, unrolled

from mhc_np import ops
from mhc_np.lab.plots_interactive import ITERATIONS, SIZES
from mhc_np.measure import calibration, gains

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
HTML = BOOK / "_build" / "html"
sys.path.insert(0, str(BOOK))

import browser  # noqa: E402
import figures as extension  # noqa: E402  book/figures.py

if browser.MISSING:
    pytest.skip(f"NO FIGURE WAS LOOKED AT, for want of {' and '.join(browser.MISSING)}", allow_module_level=True)

pytestmark = pytest.mark.slow
KINDS = ("sinkhorn", "posterior", "loop", "manifold")
THEME = """
html { --pst-color-text-base: #222832; --pst-color-text-muted: #48566b; --pst-color-background: #fff }
html[data-theme="dark"] { --pst-color-text-base: #ced6dd; --pst-color-text-muted: #9ca4af }
html[data-theme="dark"] { --pst-color-background: #121212 }
body { background: var(--pst-color-background); color: var(--pst-color-text-base); margin: 16px }
"""
COUNT_TIMERS = (
    "window.timers = 0; const real = setInterval; window.setInterval = (...all) => (window.timers++, real(...all))"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(BOOK / "_static" / "figures", folder / "figures")
    body = "".join(figures().values())
    scripts = "".join(f'<script defer src="figures/{name}.js"></script>' for name in extension.scripts_of(body))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>{THEME}</style>'
    style = '<link rel="stylesheet" href="figures/figures.css"><link rel="icon" href="data:,">'
    for theme in ("light", "dark"):
        page = (
            f'<!doctype html><html lang="en" data-theme="{theme}"><head><title>F</title>{head}{style}{scripts}</head>'
        )
        (folder / f"{theme}.html").write_text(f"{page}<body>{body}</body></html>", encoding="utf-8")
    with browser.served(folder) as home:
        yield home


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as started:
        yield started


@pytest.fixture
def visit(chromium, site):
    """A function that opens the page; afterwards no page may have complained or asked another machine."""
    pages, complaints = [], []

    def go(theme="light", width=1000, scripts=True, **options):
        context = chromium.new_context(viewport={"width": width, "height": 900}, java_script_enabled=scripts, **options)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: complaints.append(request.url) if not request.url.startswith((site, "data:")) else None,
        )
        page.add_init_script(COUNT_TIMERS)
        page.goto(f"{site}/{theme}.html")
        pages.append(context)
        return page

    yield go
    for context in pages:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def arithmetic(chromium, site):
    """A function that calls the page's own arithmetic."""
    page = chromium.new_page()
    page.goto(f"{site}/light.html")
    yield lambda name, *given: np.array(
        page.evaluate(f"(given) => mixing.{name}(...given)", [np.asarray(g).tolist() for g in given])
    )
    page.close()


def turn(page, kind, **knobs):
    """Set sliders to places, lists and buttons to keys; return the shown values by name."""
    box = page.locator(f"#a-{kind}")
    for name, value in knobs.items():
        knob = box.locator(f'[name="{name}"], [name$="-{name}"][value="{value}"]').first
        if knob.evaluate("knob => knob.type") == "range":
            knob.evaluate("(knob, value) => { knob.value = value; knob.dispatchEvent(new Event('input')) }", str(value))
        elif knob.evaluate("knob => knob.tagName") == "SELECT":
            knob.select_option(str(value))
        else:
            knob.check(force=True)
    shown = box.locator("[data-value]").evaluate_all("all => all.map((one) => [one.dataset.value, one.textContent])")
    return {name: float(text.replace(",", "")) for name, text in shown}


# The arithmetic


@pytest.mark.parametrize("num_iters", [0, 1, 2, 20, 100])
@pytest.mark.parametrize("scale", [0.1, 1.0, 8.0, 300.0])
def test_sinkhorn_is_ours(arithmetic, num_iters, scale):
    logits = scale * np.random.default_rng(num_iters).standard_normal((4, 4))
    expected = ops.sinkhorn_ref(logits, num_iters)
    np.testing.assert_allclose(arithmetic("sinkhorn", logits, num_iters), expected, rtol=1e-9, atol=1e-12)


def test_sinkhorn_is_ours_where_it_is_stuck_and_for_two_streams(arithmetic):
    for logits in ([[0.0, 0.0], [-40.0, 0.0]], [[np.log(9), 0.0], [0.0, 0.0]]):
        np.testing.assert_allclose(arithmetic("sinkhorn", logits, 20), ops.sinkhorn(np.array(logits), 20), atol=1e-12)


def test_products_and_gains_are_ours(arithmetic):
    mixings = np.random.default_rng(0).standard_normal((5, 4, 4))
    products = arithmetic("products", mixings)
    for k in range(5):
        np.testing.assert_allclose(products[k], gains.composite(mixings[: k + 1]), rtol=1e-10)
    assert arithmetic("forwardGain", products[-1]) == pytest.approx(gains.forward_gain(products[-1]))
    assert arithmetic("backwardGain", products[-1]) == pytest.approx(gains.backward_gain(products[-1]))
    assert gains.forward_gain(products[-1]) != pytest.approx(
        gains.backward_gain(products[-1])
    )  # or a transpose would pass


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e6])
def test_singular_values_are_ours(arithmetic, scale):
    rng = np.random.default_rng(1)
    deficient = np.outer(rng.standard_normal(4), rng.standard_normal(4))
    for matrix in (
        rng.standard_normal((4, 4)),
        np.eye(4),
        np.full((4, 4), 0.25),
        deficient,
        np.diag([1.0, 1e-9, 0, 0]),
    ):
        expected = gains.singular_values(scale * matrix)
        np.testing.assert_allclose(
            arithmetic("singularValues", scale * matrix), expected, rtol=1e-9, atol=1e-12 * scale
        )


# What is shown


SETTINGS = [("mhc", 0, 4, 6, 6), ("mhc", 1, 6, 0, 3), ("mhc", 1, 8, 8, 6), ("free", 0, 4, 6, 5), ("random", 1, 4, 6, 4)]


def test_gains_shown_are_those_of_numpy(visit):
    page = visit()
    for network, token, size, iterations, depth in SETTINGS:
        shown = turn(page, "sinkhorn", network=network, token=token, size=size, iterations=iterations, depth=depth)
        given = networks()[network]
        raw = given["start"] + SIZES[size] * (given["matrices"][token] - given["start"])
        product = gains.composite(
            (ops.sinkhorn_ref(raw, ITERATIONS[iterations]) if given["projected"] else raw)[:depth]
        )
        expected = gains.forward_gain(product), gains.backward_gain(product), gains.singular_values(product)[1]
        for name, want in zip(("forward", "backward", "sigma_2"), expected, strict=True):
            assert shown[name] == pytest.approx(want, rel=1e-3, abs=6e-4), (network, name)


def test_answers_shown_are_those_of_numpy(visit):
    page = visit()
    _, probs, exact = answers()
    for moment, known in itertools.product(range(2), range(4)):
        shown = turn(page, "posterior", known=known, step=moment, sequence=2)
        p, q = exact[1, known], probs[MOMENTS[moment]][1, known]
        assert shown["entropy"] == pytest.approx(calibration.entropy_bits(q), abs=2e-3)
        assert shown["leak"] == pytest.approx(100 * q[p == 0].sum(), abs=0.02)
        assert shown["kl"] == pytest.approx(calibration.kl_bits(p, q), abs=1e-3)


@pytest.mark.parametrize("course", ["both", "frame_frozen", "values_frozen"])
def test_the_laws_in_the_page_are_those_of_numpy(visit, course):
    page, kept = visit(), loop()["courses"][course]
    for moment in range(len(KEPT_STEPS)):
        weights, advantage, pull = (np.array(kept[name])[moment] for name in ("weights", "advantage", "pull"))
        for query in (0, 3, 5):
            shown = turn(page, "loop", step=moment, course=course, follow=f"q{query}")
            best = (weights * advantage)[query].argmax()
            assert shown["advantage"] == pytest.approx(advantage[query, best], abs=1e-3)
            assert shown["loss"] == pytest.approx(kept["loss"][KEPT_STEPS[moment] // 5], abs=1e-3)
        for source in (1, 2):
            shown = turn(page, "loop", follow=f"s{source}")
            assert shown["heard"] == pytest.approx(weights[:, source].sum(), abs=1e-3)
            assert shown["pull"] == pytest.approx(np.linalg.norm(pull[source]), abs=1e-3)


def test_the_manifold_shows_the_points_and_numbers_of_its_moment(visit):
    page, drift = visit(), unrolled()["drift"]
    frames = drift["unrolling"]["frames"]
    for moment in (0, len(frames) - 1):
        shown = turn(page, "manifold", moment=moment)
        assert shown["pc1_share"] == pytest.approx(100 * frames[moment]["pc1_share"], abs=0.06)
        assert shown["spearman"] == pytest.approx(frames[moment]["spearman"], abs=0.006)
        drawn = (
            page.locator("#a-manifold svg")
            .first.locator("circle")
            .evaluate_all("all => all.map((dot) => [+dot.getAttribute('cx'), +dot.getAttribute('cy')])")
        )
        points = np.array(frames[moment]["coordinates"])
        np.testing.assert_allclose((np.array(drawn) - 160) / [125, -125], points / np.abs(points).max(), atol=2e-3)


# Keys, and nothing but keys


@pytest.mark.parametrize("kind", KINDS)
def test_every_knob_can_be_reached_and_turned_by_keys(visit, kind):
    page = visit()
    knobs = page.locator(f"#a-{kind} :is(input[type=range], select, input[type=radio]:checked)")
    assert knobs.count() >= 2
    for k in range(knobs.count()):
        knob = knobs.nth(k)
        if knob.is_disabled():
            continue
        before = page.locator(f"#a-{kind} .play-live").inner_html()
        knob.focus()
        knob.press(
            "ArrowLeft" if knob.evaluate("knob => knob.type === 'range' && knob.value === knob.max") else "ArrowRight"
        )
        ring = knob.evaluate(
            "knob => getComputedStyle(knob.type === 'radio' ? document.activeElement.nextSibling : knob).outlineStyle"
        )
        assert ring == "solid"
        assert page.locator(f"#a-{kind} .play-live").inner_html() != before


@pytest.mark.parametrize("kind", KINDS)
def test_knobs_have_names_and_values_are_spoken(visit, kind):
    page = visit()
    box = page.locator(f"#a-{kind}")
    unnamed = box.locator(":is(button, select, input[type=range]):not([aria-label])")
    assert unnamed.count() == 0
    spoken = box.locator("input[type=range]").evaluate_all(
        "all => all.map((one) => one.getAttribute('aria-valuetext'))"
    )
    assert spoken == box.locator(".play-knob output").all_inner_texts()
    assert box.locator(".play-words").get_attribute("aria-live") == "polite"
    labels = box.locator("svg").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    assert len(labels) == 2
    assert all(labels)


@pytest.mark.parametrize("kind", KINDS)
def test_it_moves_on_demand_alone_and_stops_at_the_end(visit, kind):
    page = visit(reduced_motion="reduce")
    assert page.evaluate("window.timers") == 0
    box = page.locator(f"#a-{kind}")
    button = box.locator(".play-button").first
    slider = button.locator("xpath=..").locator("input")
    assert button.get_attribute("aria-label").startswith("Play")
    last = int(slider.get_attribute("max"))
    slider.evaluate("(knob) => { knob.value = +knob.max - 2; knob.dispatchEvent(new Event('input')) }")
    button.focus()
    button.press("Enter")
    assert int(slider.input_value()) == last - 1
    assert button.get_attribute("aria-label").startswith("Stop")
    assert box.locator(".play-words").get_attribute("aria-live") == "off"
    page.wait_for_function(
        "(id) => document.querySelector(id + ' .play-words').ariaLive === 'polite'", arg=f"#a-{kind}"
    )
    assert int(slider.input_value()) == last
    assert button.get_attribute("aria-label").startswith("Play")


def test_iterations_are_no_knob_of_unprojected_mixings(visit):
    page = visit()
    knob = page.locator('#a-sinkhorn [name="iterations"]')
    for network, off in (("free", True), ("mhc", False)):
        turn(page, "sinkhorn", network=network)
        assert knob.is_disabled() == off


# Everywhere


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1000])
def test_nothing_sticks_out_and_letters_read(visit, theme, width):
    page = visit(theme, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate("""() => [...document.querySelectorAll(".play-live svg")].flatMap((svg) => {
      const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
      return [...svg.querySelectorAll("text")].filter((text) => {
        const box = text.getBBox();
        return box.x < -1 || box.y < -1 || box.x + box.width > width + 1 || box.y + box.height > height + 1;
      }).map((text) => `${svg.getAttribute("aria-label")}: ${text.textContent}`);
    })""")
    assert outside == []
    small = page.locator(".play-live svg text").evaluate_all(
        "all => Math.min(...all.map(({ ownerSVGElement: at }) => 12.5 * at.clientWidth / at.viewBox.baseVal.width))"
    )
    assert small > 11  # pixels on the screen
    contrasts = page.evaluate("""() => {
      const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
      const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const page = light(getComputedStyle(document.body).backgroundColor);
      return [...document.querySelectorAll(".play-live text")].map((text) => {
        const box = text.getBoundingClientRect();
        const under = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2)
          .find((shape) => ["rect", "circle"].includes(shape.tagName) && getComputedStyle(shape).fill !== "none");
        const ground = under ? light(getComputedStyle(under).fill) : page;
        return [text.textContent, ratio(light(getComputedStyle(text).fill), ground), box.y];
      }).filter(([, , y]) => y > 0 && y < innerHeight);
    }""")
    assert len(contrasts) > 20
    assert [(text, ratio) for text, ratio, _ in contrasts if ratio < 4.4] == []


@pytest.mark.parametrize("way", ["print", "no scripts"])
def test_paper_and_a_page_without_scripts_show_the_still(visit, way):
    page = visit(scripts=way == "print")
    if way == "print":
        page.emulate_media(media="print")
    for kind in KINDS:
        assert page.locator(f"#a-{kind} .play-still img").is_visible()
        assert page.locator(f"#a-{kind} .play-still img").evaluate("image => image.naturalWidth") > 100
        assert page.locator(f"#a-{kind} .play-note").is_visible()
        assert page.locator(f"#a-{kind} .play-live :visible").count() == 0
    page.emulate_media(media="screen")
    assert page.locator("#a-loop .play-still").is_visible() == (way != "print")


def test_a_figure_that_cannot_be_drawn_leaves_its_still(chromium, site):
    page = chromium.new_page()
    page.route("**/loop.js", lambda route: route.abort())
    page.goto(f"{site}/light.html")
    assert page.locator("#a-loop .play-still").is_visible()
    assert page.locator("#a-manifold .play-live").is_visible()
    page.close()


def test_a_figure_that_fails_says_so_and_leaves_the_others_alone(chromium, site):
    page, heard = chromium.new_page(), []
    page.on("console", lambda message: heard.append(message.text))
    broken = 'play.figure("sinkhorn", () => { throw new Error("no numbers") });'
    page.route("**/sinkhorn.js", lambda route: route.fulfill(body=broken, content_type="text/javascript"))
    page.goto(f"{site}/light.html")
    assert heard == ["a-sinkhorn: Error: no numbers"]
    assert page.locator("#a-sinkhorn .play-still").is_visible()
    assert page.locator("#a-manifold .play-live").is_visible()
    page.close()


# The finished book


@pytest.mark.skipif(not (HTML / "index.html").exists(), reason="no built book: make book")
def test_pages_of_the_book_load_the_scripts_that_they_need():
    for path in HTML.glob("*/*.html"):
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r'<script defer="defer" src="[./]*_static/figures/(\w+)\.js', text)
        assert loaded == extension.scripts_of(text), path.name
