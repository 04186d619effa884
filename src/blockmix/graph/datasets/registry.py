"""The table of known networks: where each comes from, how large it is, and how a copy is recognised.

Counts are those of the simple undirected network, after self-loops and repeats are dropped and with isolated
nodes counted, so they can differ from the counts of the source's own page. A checksum is given only where the
very file behind the address was hashed; without one, a copy is recognised by its counts.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from blockmix.errors import InputError, readable

_SNAP = "https://snap.stanford.edu/data"
_GITHUB = "https://raw.githubusercontent.com"
_LI = f"{_GITHUB}/wenzheli/MCMC_FOR_AMMSB/e0ea33bb3231e71b0606ca2b6019e16819d864d8/datasets"
_COMMUNITY_GRAPHS = (
    f"{_GITHUB}/vlivashkin/community-graphs/e282fe406e8b0c7b09a1d0c59af95632b8757b31/raw_graphs"
)
_SEAL = f"{_GITHUB}/yzhang1918/kdd2020seal/7441438e5f81d78dc5bae5a965eb994ace7d09b8/preprocessing/raw_data"

_GROUND_TRUTH = (
    "J. Yang and J. Leskovec, Defining and evaluating network communities based on ground-truth, ICDM 2012"
)
_DENSIFICATION = (
    "J. Leskovec, J. Kleinberg and C. Faloutsos, Graph evolution: densification and shrinking diameters, "
    "ACM TKDD 1(1), 2007"
)
_LI_AHN_WELLING = (
    "W. Li, S. Ahn and M. Welling, Scalable MCMC for mixed membership stochastic blockmodels, AISTATS 2016"
)
_NEWMAN_SITE = "distributed by M. E. J. Newman"


@dataclass(frozen=True)
class Source:
    """A public file: its address, its SHA-256 and size in bytes where they are known, and its format."""

    address: str
    sha256: str | None = None
    size: int | None = None
    format: Literal["edges", "gml", "communities"] = "edges"


@dataclass(frozen=True)
class Dataset:
    """A known network. `sources` are tried in order; none means it has to be put in place by hand.

    `truth` names the ground-truth covers that exist ("" for the only one), `truth_sources` where they can be
    had, and `aliases` what papers call the network.
    """

    name: str
    description: str
    nodes: int
    edges: int
    citation: str
    sources: tuple[Source, ...] = ()
    truth: tuple[str, ...] = ()
    truth_sources: tuple[tuple[str, Source], ...] = ()
    aliases: tuple[str, ...] = ()
    note: str = ""


def _collaboration(name: str, field: str, nodes: int, edges: int, sha256: str, *aliases: str) -> Dataset:
    """Describe a SNAP arXiv network; the paper's authors have a copy, the second source."""
    sources = (Source(f"{_SNAP}/{name}.txt.gz"), Source(f"{_LI}/{name.replace('ca-', 'CA-')}.txt", sha256))
    words = f"Co-authors of arXiv papers in {field}"
    return Dataset(name, words, nodes, edges, _DENSIFICATION, sources, aliases=aliases)


def _community(name: str, words: str, nodes: int, edges: int, *mirrors: Source, short: str = "") -> Dataset:
    """Describe a SNAP network with ground-truth communities: all of them, and the 5000 of highest quality."""
    stem = f"{_SNAP}/bigdata/communities/{short or name.lower()}"
    truth = tuple(
        (which, Source(f"{stem}.{which}.cmty.txt.gz", format="communities")) for which in ("top5000", "all")
    )
    sources = (Source(f"{stem}.ungraph.txt.gz"), *mirrors)
    return Dataset(name, words, nodes, edges, _GROUND_TRUTH, sources, ("top5000", "all"), truth)


_DATASETS = (
    Dataset(
        "synthetic-75",
        "75 nodes drawn from an assortative mixed-membership blockmodel with 4 communities",
        75,
        859,
        _LI_AHN_WELLING,
        (
            Source(
                f"{_GITHUB}/premgopalan/svinet/453de34639e9938c69bca2b7249af8112a33db0e/example/assort-75-4.txt",
                "f8c294e1e0c0a8f613c5f6eedd921ac8ea1d1016c39c8388fb75ddba41fc7b0c",
            ),
        ),
    ),
    Dataset(
        "us-air-712",
        "Flights between airports of the United States, as in the code of the paper's authors",
        712,
        4883,
        _LI_AHN_WELLING,
        (
            Source(
                f"{_GITHUB}/wenzheli/MCMC_CPLUS/2b11df4fb0eb2704870cbaa2471ddb6adbf271eb/US_AIR.txt",
                "675a940134dcf897dee8f40694f0d8e787ed46bb81ae7565d41413f2b9124704",
            ),
        ),
        aliases=("US-AIR",),
        note="The paper's table gives 1.1k nodes and 1.2 %; its authors' file has 712 nodes and 1.9 %.",
    ),
    Dataset(
        "us-airport-2010",
        "Flights between airports of the United States in 2010",
        1574,
        17215,
        "T. Opsahl, Why Anchorage is not (that) important, 2011 (tnet)",
        (
            Source(
                f"{_GITHUB}/OxCSML-BayesNP/SNetOC/9dca69da89630f3682491727f86d59cafd90aa58/data/usairport/USairport_2010.txt",
                "dba90f87bd64aa22c3ed57c66afb885fabd54b6dd404c0f2671fd20f20fb9593",
            ),
        ),
    ),
    Dataset(
        "us-air-t100-july",
        "Domestic flights of United States carriers in one July",
        1022,
        7957,
        "Bureau of Transportation Statistics, T-100 Domestic Segment",
        note="Extracted from a table of flights; there is no edge list to download.",
    ),
    Dataset(
        "netscience",
        "Co-authors in network science",
        1589,
        2742,
        "M. E. J. Newman, Finding community structure using the eigenvectors of matrices, PRE 74, 2006",
        (
            Source(
                f"{_GITHUB}/jainammshahh/Social_Collaboration_Of_Network_Scientists/"
                "135463b6c93c59b4c886ff0dea0f69c291dbfe09/netscience.gml",
                "eb12cbdb0e6e893c321df6701bc6270a9556c6bbfe2fcac00521a46a52275258",
                format="gml",
            ),
        ),
    ),
    _collaboration(
        "ca-GrQc",
        "general relativity and quantum cosmology",
        5242,
        14484,
        "f8ce6e931e068b878044b783da99ef603f566c87bcbce7991cd53720879f1660",
        "RELATIVITY",
    ),
    _collaboration(
        "ca-HepPh",
        "high-energy physics (phenomenology)",
        12008,
        118489,
        "bfb289b97d5b8025da0f9c39d9f9404c10ea9f190d877bad42128749e74237c4",
        "HEP-PH",
    ),
    _collaboration(
        "ca-HepTh",
        "high-energy physics (theory)",
        9877,
        25973,
        "8ce8a9aa75f0617d574a8109a6f8b189a9e38d214a6698ceaf25b2eecc873e90",
    ),
    _collaboration(
        "ca-CondMat",
        "condensed matter physics",
        23133,
        93439,
        "bb61d14cc6186789566dc81f92e3979261adeab3e2b0f15a77805e498bb0bc4a",
    ),
    _community(
        "com-DBLP",
        "Co-authors in computer science; communities are venues",
        317080,
        1049866,
        Source(
            f"{_SEAL}/dblp/com-dblp.ungraph.txt.gz",
            "9eb0bd30312ddd04e2624f7c36c0983a2e99b116f0385be5a7fce6d6170f4cb3",
        ),
    ),
    _community("com-Amazon", "Products bought together; communities are product categories", 334863, 925872),
    _community("com-YouTube", "Friends on YouTube; communities are user groups", 1134890, 2987624),
    Dataset(
        "com-YouTube-top5000",
        "The part of com-YouTube on the members of its 5000 best communities",
        39841,
        224235,
        _GROUND_TRUTH,
        truth=("top5000",),
        note="Made from com-YouTube; there is no such file to download.",
    ),
    _community(
        "com-LiveJournal",
        "Friends on LiveJournal; communities are user groups",
        3997962,
        34681189,
        short="com-lj",
    ),
    _community("com-Orkut", "Friends on Orkut; communities are user groups", 3072441, 117185083),
    _community("com-Friendster", "Friends on Friendster; communities are user groups", 65608366, 1806067135),
    Dataset(
        "polbooks",
        "Books on politics bought together; communities are political leanings",
        105,
        441,
        f"V. Krebs, unpublished, {_NEWMAN_SITE}",
        (
            Source(
                f"{_COMMUNITY_GRAPHS}/polbooks/polbooks.gml",
                "29e2439036fa4e13b478a9d4ceda78b5ab4d4d8252882a7f2b6036b028e34848",
                format="gml",
            ),
        ),
        truth=("",),
    ),
    Dataset(
        "football",
        "Games between American college football teams; communities are conferences",
        115,
        613,
        "M. Girvan and M. E. J. Newman, Community structure in social and biological networks, PNAS 99, 2002",
        (
            Source(
                f"{_COMMUNITY_GRAPHS}/football/football.gml",
                "48bc58e19bf674cc9064e60fe7128f0b95a908e684fed575178f1388ac34e949",
                format="gml",
            ),
        ),
        truth=("",),
    ),
    Dataset(
        "dolphins",
        "Dolphins often seen together in Doubtful Sound; two groups",
        62,
        159,
        f"D. Lusseau et al., Behavioral Ecology and Sociobiology 54, 2003, {_NEWMAN_SITE}",
        (
            Source(
                f"{_COMMUNITY_GRAPHS}/dolphins/dolphins.edges",
                "3fb910d224163d758d5606fe1aa7d4bdf25c37d140412101365cafc8436494bd",
            ),
        ),
        truth=("",),
    ),
    Dataset(
        "karate",
        "Friends in a karate club that split in two",
        34,
        78,
        "W. W. Zachary, An information flow model for conflict and fission in small groups, 1977",
        (
            Source(
                f"{_COMMUNITY_GRAPHS}/karate/karate.edges",
                "9b9d27dc0882b2ed3c1db3d11d9ea13db5088335250343f366cc223dc3131d6c",
            ),
        ),
        truth=("",),
    ),
    Dataset(
        "lesmis",
        "Characters of Les Misérables who meet in a chapter",
        77,
        254,
        "D. E. Knuth, The Stanford GraphBase, 1993",
        (
            Source(
                f"{_GITHUB}/igraph/igraphdata/289b9c7bad9681c2789458b7be4a501820073c88/inst/files/lesmis.gml",
                "8f044fd3593c6501e835156bbafa4ed4cedfefec9ee5c11473e81f572770faac",
                format="gml",
            ),
        ),
    ),
    Dataset(
        "email-Enron",
        "Who wrote to whom at Enron",
        36692,
        183831,
        "B. Klimt and Y. Yang, Introducing the Enron corpus, CEAS 2004",
        (
            Source(f"{_SNAP}/email-Enron.txt.gz"),
            Source(
                f"{_GITHUB}/jongwook/graphdb-benchmarks/68f79fe30d1bffb32998a19864a1b2ff66c0d117/data/email-Enron.txt.gz",
                "e4611471ed181699b36e2aafc313e077fb25d16ed67ec5a81591eb8d8b40a5bc",
            ),
        ),
    ),
    Dataset(
        "ego-Twitter",
        "Who follows whom on Twitter, around some people, direction left out",
        81306,
        1342296,
        "J. McAuley and J. Leskovec, Learning to discover social circles in ego networks, NIPS 2012",
        (Source(f"{_SNAP}/twitter_combined.txt.gz"),),
    ),
)

REGISTRY: dict[str, Dataset] = {dataset.name: dataset for dataset in _DATASETS}


def find(name: str) -> Dataset:
    """Find the network with this name or alias, in any case, or raise an `InputError` with the nearest name.

    >>> find("relativity").name
    'ca-GrQc'
    """
    known = {
        spelling.lower(): entry for entry in REGISTRY.values() for spelling in (entry.name, *entry.aliases)
    }
    entry = known.get(name.lower())
    if entry is None:
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
        hint = f"did you mean {known[near[0]].name}?" if near else f"known: {', '.join(sorted(REGISTRY))}"
        raise InputError(f"no network is called {readable(name)}; {hint}")
    return entry
