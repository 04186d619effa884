"""Posteriors made without a fit, and a Chromium to look at their reports."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from blockmix import Graph
from blockmix.graph.labels import Labels
from blockmix.posterior.posterior import HeldOutPairs, Posterior

# Labels that would do harm if any of them were taken for markup.
NASTY = [
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    "</script><script>window.hacked = 3</script>",
    "\"><svg onload='window.hacked = 4'>",
    "a\u2028b & <!-- c",
    "$\\frac{1}{2}$ ]]> \x07",
    "__proto__",
    "x" * 300,
]


def planted(nodes, communities, seed=0, degree=8, names=None):
    """A network with planted groups, and every node's shares: its group, and the next for one in eight."""
    rng = np.random.default_rng(seed)
    group = np.arange(nodes) * communities // nodes
    size = nodes // communities
    a = rng.integers(0, nodes, nodes * degree // 2)
    b = np.minimum(group[a] * size + rng.integers(0, size, len(a)), nodes - 1)
    stray = rng.random(len(a)) < 0.1
    b[stray] = rng.integers(0, nodes, int(stray.sum()))
    ring = np.column_stack([np.arange(nodes), np.roll(np.arange(nodes), 1)])
    pairs = np.concatenate([np.column_stack([a, b]), ring])
    graph = Graph.from_edges(pairs[pairs[:, 0] != pairs[:, 1]])
    if names is not None:
        labels = [*names, *(f"node {i}" for i in range(len(names), nodes))]
        graph = Graph(graph.offsets, graph.neighbors, Labels.from_text(labels))
    return graph, group


def posterior_of(graph, group, communities, *, seed=0, held_out=True, trace=True, **facts):
    """A posterior in which every eighth node is surely in two communities."""
    rng = np.random.default_rng(seed)
    nodes = graph.n_nodes
    mixed = np.arange(nodes) % 8 == 3
    if communities < 2:
        mixed[:] = False
    counts = 1 + mixed.astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    community, mean, sd = (np.empty(offsets[-1], dtype=t) for t in (np.int32, np.float32, np.float32))
    first = offsets[:-1]
    community[first], mean[first], sd[first] = group, 0.97, 0.01
    second = first[mixed] + 1
    community[second] = (group[mixed] + 1) % communities
    mean[first[mixed]], mean[second], sd[first[mixed]], sd[second] = 0.6, 0.38, 0.05, 0.05
    sizes = np.bincount(community, mean, communities)
    pairs = None
    if held_out:
        edges = graph.edges()
        edges = edges[np.linspace(0, len(edges) - 1, min(200, len(edges) // 5)).astype(np.int64)]
        strangers = np.column_stack([rng.integers(0, nodes, 200), rng.integers(0, nodes, 200)])
        strangers = strangers[strangers[:, 0] != strangers[:, 1]]
        both = np.concatenate([edges, strangers]).astype(np.int64)
        links = np.arange(len(both)) < len(edges)
        probability = np.where(links, rng.uniform(0.05, 0.9, len(both)), rng.uniform(1e-5, 0.05, len(both)))
        pairs = HeldOutPairs(both, links, probability, graph.density, "balanced", 0.05)
    return Posterior(
        graph=graph,
        offsets=offsets,
        community=community,
        mean=mean,
        sd=sd,
        sizes=sizes,
        strength_mean=np.full(communities, 0.4),
        strength_sd=np.full(communities, 0.05),
        background_mean=0.001,
        background_sd=1e-4,
        numbers=np.arange(communities)[None],
        draws=((),),
        trace=made_trace() if trace else {},
        held_out=pairs,
        provenance={
            "seed": 1,
            "samples": 1000,
            "chains": 2,
            "seconds": 12.5,
            "device": "cpu",
            "graph_fingerprint": graph.fingerprint,
        }
        | facts,
    )


def made_trace(chains=2, sweeps=60, loss=None, dropped=0.0):
    """Return a trace that has settled, unless arguments make it fall."""
    sweep = np.arange(1, sweeps + 1) * 10
    loss = 0.1 + 0.1 * np.exp(-np.arange(sweeps) / 3.0) if loss is None else np.asarray(loss)
    rng = np.random.default_rng(5)
    return {
        "chain": np.tile(np.arange(chains), sweeps),
        "sweep": np.repeat(sweep, chains),
        "seconds": np.repeat(sweep / 50.0, chains),
        "warm_up": np.repeat(np.arange(sweeps) < sweeps // 3, chains),
        "log_loss": np.repeat(loss, chains),
        "auc": np.repeat(1.0 - loss, chains),
        "background": rng.normal(0.01, 0.001, chains * sweeps),
        "dropped": np.full(chains * sweeps, dropped),
    }


@pytest.fixture(scope="session")
def small():
    """120 nodes in 6 communities, among them nodes with labels that would do harm."""
    graph, group = planted(120, 6, names=NASTY)
    return posterior_of(graph, group, 6)


@pytest.fixture
def make_posterior():
    """A function that makes a posterior of planted communities: nodes, communities, options of both."""

    def make(nodes=60, communities=3, names=None, degree=8, **options):
        graph, group = planted(nodes, communities, names=names, degree=degree)
        return posterior_of(graph, group, communities, **options)

    return make


def _chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


@pytest.fixture(scope="session")
def browse():
    """A function that opens a page in headless Chromium; skips where there is none.

    WebGL is computed by the processor there and slow: only tests of the drawing ask for it.
    """
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program, driver = _chromium(), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("no Chromium with chromedriver on this machine")
    open_now = {}

    def start(webgl):
        options = webdriver.ChromeOptions()
        options.binary_location = program
        profile = tempfile.mkdtemp(prefix="blockmix-test-")
        switches = [
            "--headless=new", "--no-sandbox", "--no-first-run", "--disable-quic", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
            "--window-size=1366,900", f"--user-data-dir={profile}",
        ]  # fmt: skip
        switches += (
            ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
            if webgl
            else ["--disable-gpu", "--disable-3d-apis"]
        )
        for switch in switches:
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        return made, profile

    def browse(path, webgl=False):
        if webgl not in open_now:
            open_now[webgl] = start(webgl)
        page = open_now[webgl][0]
        page.get_log("browser")
        page.get(path if path == "about:blank" else Path(path).resolve().as_uri())
        return page

    yield browse
    for page, profile in open_now.values():
        page.quit()
        shutil.rmtree(profile, ignore_errors=True)
