"""The map and its lists in a real browser: what it draws, what it counts, what it saves."""

import csv
import io
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import blockmix as bm
from blockmix.report import write_report
from blockmix.report.communities import Findings
from blockmix.report.pictures.drawing import draw
from blockmix.report.pictures.pack import pack_nodes
from blockmix.report.pictures.places import node_places

from .conftest import planted, posterior_of
from .test_browser import complaints, drawn, ready, search, text, until

# A label that a spreadsheet would run, and one that would be markup in a picture.
FORMULA, MARKUP = "=cmd()", "<b>&\"'"
# What the page saves is kept here instead of being downloaded.
CATCH = """
window.kept = [];
const old = URL.createObjectURL;
URL.createObjectURL = (blob) => { blob.text().then((t) => window.kept.push(t)); return old.call(URL, blob); };
HTMLAnchorElement.prototype.click = () => {};
"""


@pytest.fixture(scope="module")
def post():
    """A posterior whose second shares are unsure: their mean is 38%, what is more likely than not is less."""
    graph, group = planted(120, 6, names=[FORMULA, MARKUP])
    made = posterior_of(graph, group, 6)
    return replace(made, sd=np.where(made.mean < 0.5, 0.3, made.sd).astype(np.float32))


@pytest.fixture(scope="module")
def report(post, tmp_path_factory):
    return write_report(post, tmp_path_factory.mktemp("map") / "report.html")


def saved(page):
    return until(page, "window.kept.shift()")


def slide(page, percent):
    page.execute_script(
        "const s = document.getElementById('threshold'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))",
        percent,
    )
    until(page, "document.getElementById('threshold-value').textContent === arguments[0]", f"{percent}%")


def counts(page):
    return page.execute_script(
        "return [...document.querySelectorAll('#legend .entry')].map((e) => [Number(e.dataset.community),"
        " Number(e.lastElementChild.textContent)])"
    )


def test_the_slider_counts_members_as_the_posterior_does(browse, report, post):
    page = browse(report)
    ready(page)
    for percent in (20, 36, 70):
        slide(page, percent)
        # Also communities that no node reaches stay in the list.
        covers = post.covers(percent / 100, min_size=1)
        expected = [[k, len(covers.get(k, ()))] for k in range(6)]
        until(page, "JSON.stringify([...document.querySelectorAll('#legend .entry')].map((e) =>"
              " Number(e.lastElementChild.textContent))) === arguments[0]",
              "[" + ",".join(str(n) for _, n in expected) + "]")  # fmt: skip
        assert counts(page) == expected


def test_members_can_be_searched_and_taken_as_csv(browse, report, post):
    page = browse(report)
    ready(page)
    page.execute_script(CATCH)
    page.execute_script("document.querySelector('#legend [data-community=\"0\"]').click()")
    until(page, "document.querySelectorAll('#card .list li').length > 5")
    members = [str(post.graph.labels[int(a)]) for a in post.covers(0.1)[0]]
    shown = page.execute_script(
        "return [...document.querySelectorAll('#card .list .node')].map((n) => n.textContent)"
    )
    assert sorted(shown) == sorted(members)
    field = page.find_element("css selector", "#card .find input")
    field.send_keys("cmd")
    until(page, "document.querySelectorAll('#card .list li').length === 1")
    page.find_element("css selector", "#card .find button").click()
    rows = list(csv.reader(io.StringIO(saved(page))))
    assert rows[0] == ["node", "community", "share", "lower", "upper"]
    assert sorted(row[0] for row in rows[1:]) == sorted(
        "'" + label if label == FORMULA else label for label in members
    )
    share = {row[0]: float(row[2]) for row in rows[1:]}
    first = post.graph.labels.index(MARKUP)
    assert share[MARKUP] == pytest.approx(float(post.mean[post.offsets[first]]), abs=1e-4)
    assert complaints(page) == []


def test_two_nodes_are_shown_side_by_side(browse, report, post):
    page = browse(report)
    ready(page)
    search(page, "node 3")
    page.find_element("id", "hold").click()
    search_second(page, "node 11")
    rows = page.execute_script(
        "return [...document.querySelectorAll('.pairs tbody tr')].map((r) => [...r.children].map((c) => c.textContent))"
    )
    # Both are bridges of communities 0 and 1.
    assert [row[0] for row in rows] == ["0", "1"]
    assert all(row[1].startswith(row[2][:3]) for row in rows)
    a, b = (post.graph.labels.index(f"node {i}") for i in (3, 11))
    linked = bool(post.graph.has_edges(np.array([[a, b]]))[0])
    assert ("They are linked." in text(page, "#card")) == linked
    assert "98% of their shares are in the same communities" in text(page, "#card")


def search_second(page, label):
    from selenium.webdriver.common.keys import Keys

    field = page.find_element("id", "search")
    field.clear()
    field.send_keys(label, Keys.ENTER)
    until(page, "document.querySelectorAll('.pairs tbody tr').length > 0")


def test_a_chosen_node_has_its_links_in_front_and_the_picture_can_be_kept(browse, report, post):
    page = browse(report, webgl=True)
    drawn(page)
    page.execute_script(CATCH)
    search(page, MARKUP)
    node = post.graph.labels.index(MARKUP)
    degree = int(post.graph.degrees[node])
    until(page, "blockmixMap.choice.near?.size === arguments[0]", degree + 1)
    page.execute_script("blockmixMap.camera.moving = null; document.getElementById('save-svg').click()")
    picture = ElementTree.fromstring(saved(page))
    names = [e.text for e in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert MARKUP in names
    lines = list(picture.iter("{http://www.w3.org/2000/svg}line"))
    assert sum(float(line.get("stroke-opacity")) > 0.9 for line in lines) == degree
    page.execute_script("document.getElementById('save-png').click()")
    assert saved(page)[1:4] == "PNG"
    assert complaints(page) == []


def test_points_made_in_parts_are_those_made_at_once_and_all_nodes(browse, report):
    page = browse(report, webgl=True)
    drawn(page)
    once, parts, x = page.execute_script("""
const { scene, choice, points } = blockmixMap, Points = points.constructor, all = scene.count;
const whole = new Points(scene), part = new Points(scene);
const join = (make) => [7, 8, all].flatMap((end) => Array.from(make(end)));
return [
  [Array.from(whole.places(all).places), Array.from(whole.colours(all, choice).colours)],
  [join((end) => part.places(end).places), join((end) => part.colours(end, choice).colours)],
  Array.from(scene.x),
];""")
    assert once == parts
    assert sorted(once[0][::2]) == sorted(x)
    # Six bytes of eight say something: three of the colour, doubt, and that nothing is faint.
    assert len(once[1]) == 8 * len(x)
    assert set(once[1][5::8]) == {255}


def test_names_of_communities_lie_at_their_own_nodes_and_fit_the_picture(browse, report):
    page = browse(report, webgl=True)
    drawn(page)
    lines = page.execute_script("""
const { lettering } = blockmixMap;
const centres = new Map([[0, { x: 100, y: 300, spread: 20 }], [1, { x: 100, y: 200, spread: 100 }]]);
const camera = { zoom: 1, toScreen: (x, y) => [x, y] };
lettering.look = { ratio: 1 };
const first = lettering.linesAbove({ centres }, camera).map(({ line }) => line ?? null);
centres.set(1, { x: 100, y: 320, spread: 30 });
return [first, lettering.linesAbove({ centres }, camera).map(({ line }) => line ?? null),
  lettering.few({ width: 350, height: 350 }), lettering.few({ width: 1000, height: 700 })];""")
    # In the second case the name of 1 would be at 269, nearer to community 0.
    assert lines == [[264, 44], [264, None], 7, 22]


FRAMES = """
const [count, done] = [{ frames: 0 }, arguments[0]];
const { frame } = blockmixMap;
blockmixMap.frame = (now) => { count.frames++; frame.call(blockmixMap, now); };
setTimeout(() => { blockmixMap.frame = frame; done(count.frames); }, 1500);
"""


def test_a_page_that_nobody_touches_draws_no_frames(browse, report):
    page = browse(report, webgl=True)
    drawn(page)
    until(page, "document.documentElement.dataset.complete")
    until(page, "!blockmixMap.asked")
    assert page.execute_async_script(FRAMES) == 0
    page.execute_script("document.getElementById('search').focus()")
    assert page.execute_async_script(FRAMES) == 0
    # The count is not of nothing.
    page.execute_script("setTimeout(() => blockmixMap.touch(), 300)")
    assert page.execute_async_script(FRAMES) > 0


def test_steps_that_follow_each_other_fast_add_up(browse, report):
    page = browse(report, webgl=True)
    drawn(page)
    page.execute_script("for (let i = 0; i < 3; i++) document.getElementById('zoom-in').click()")
    until(page, "!blockmixMap.camera.moving")
    zoom = page.execute_script("return blockmixMap.camera.zoom / blockmixMap.camera.whole")
    assert zoom == pytest.approx(1.5**3, rel=1e-6)


def test_where_the_graphics_are_taken_away_the_still_picture_comes_back(browse, report):
    page = browse(report, webgl=True)
    drawn(page)
    page.execute_script("blockmixMap.painter.gl.getExtension('WEBGL_lose_context').loseContext()")
    until(page, "document.getElementById('stage').hidden && !document.getElementById('still').hidden")
    assert "took the graphics away" in text(page, "#remark")
    search(page, "node 19")
    assert text(page, "#card h3") == "node 19"
    assert complaints(page) == []


def test_a_node_of_a_directed_network_says_its_role_and_leads_to_the_other(browse, tmp_path):
    links = [(f"n{a}", f"n{b}") for a in range(12) for b in range(12) if a != b and (a < 6) == (b < 6)]
    post = bm.fit(links, 2, directed=True, seed=1, sweeps=60, chains=1, held_out=0)
    page = browse(write_report(post, tmp_path / "r.html"))
    ready(page)
    assert text(page, "h1").endswith("in a directed network of 12 nodes")
    search(page, "n3 (out)")
    until(page, "document.querySelector('#card h3')?.textContent === 'n3 (out)'")
    assert "as a sender, 5 links" in text(page, "#card .note")
    assert "Sends links to" in text(page, "#card")
    page.execute_script(
        "[...document.querySelectorAll('#card button')].find((b) => b.textContent === 'As a receiver').click()"
    )
    until(page, "document.querySelector('#card h3')?.textContent === 'n3 (in)'")
    assert "Receives links from" in text(page, "#card")
    assert complaints(page) == []


# How many pixels of the first plot have two colours.
INKED = """
const plot = document.querySelector('#traces canvas');
const data = plot.getContext('2d').getImageData(0, 0, plot.width, plot.height).data;
const count = ([r, g, b]) => {
  let n = 0;
  for (let i = 0; i < data.length; i += 4) n += data[i] === r && data[i + 1] === g && data[i + 2] === b;
  return n;
};
return [...arguments].map(count);
"""


def test_paper_shows_the_picture_all_plots_and_all_rows(browse, make_posterior, tmp_path):
    page = browse(write_report(make_posterior(200, 20), tmp_path / "r.html"), webgl=True)
    drawn(page)
    assert page.execute_script("return document.querySelectorAll('#community-table tbody tr').length") == 15
    # On a dark screen too.
    page.execute_script("document.documentElement.dataset.theme = 'dark'")
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    shade, line = page.execute_script(INKED, [237, 234, 226], [31, 95, 139])
    assert shade > 500
    assert line > 20
    assert page.execute_script("return document.getElementById('still').src").startswith(
        "data:image/png;base64,"
    )
    assert not page.execute_script("return document.getElementById('still').hidden")
    assert page.execute_script("return document.querySelectorAll('#traces canvas').length") == 4
    assert page.execute_script("return document.querySelectorAll('#community-table tbody tr').length") == 20
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert page.execute_script("return document.getElementById('still').hidden")
    assert page.execute_script("return document.querySelectorAll('#community-table tbody tr').length") == 15
    assert complaints(page) == []


def test_the_page_places_nodes_of_a_map_as_python_does(browse, tmp_path):
    graph, group = planted(6_000, 60)
    post = posterior_of(graph, group, 60, held_out=False, trace=False)
    found = Findings(post)
    page = browse(write_report(post, tmp_path / "r.html"), webgl=True)
    assert drawn(page) == "webgl"
    places, entries = draw(found)[0].places, pack_nodes(found).entries
    disc_of = np.empty(60, dtype=np.int64)
    disc_of[places.numbers] = np.arange(60)
    expected = node_places(places, entries.node, disc_of[entries.community], entries.mean, 6_000)
    for axis, name in enumerate("xy"):
        shown = np.array(page.execute_script(f"return Array.from(blockmixMap.scene.{name})"))
        assert np.abs(shown - expected[:, axis]).max() < 1e-4 * np.ptp(expected[:, axis])
    # Far away nodes are points; near a chosen one they are discs, and its name is there.
    assert page.execute_script("return blockmixMap.scene.kind") == "map"
    search(page, "4321")
    until(page, "blockmixMap.prepared?.near?.includes(4321) && !blockmixMap.camera.moving")
    until(page, "blockmixMap.lettering.placed.some((name) => name.text === '4321')")
    assert complaints(page) == []
