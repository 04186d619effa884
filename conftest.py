"""What tests and doctests of all folders share: the result that the examples of its methods ask questions of."""

import pytest

ASKED = "blockmix.posterior.answers.methods.Answers."


@pytest.fixture(scope="session")
def asked_post():
    """Return the result of the example of `Answers`: two cliques of eight that share node 7, but no link of 0 and 1."""
    import blockmix as bm

    links = [(a + c, b + c) for c in (0, 7) for a in range(8) for b in range(a) if (a + c, b) != (1, 0)]
    graph = bm.as_graph(links, nodes={"id": range(15), "team": ["red"] * 8 + ["blue"] * 7})
    return bm.fit(graph, communities=2, seed=1, sweeps=300, held_out=0)


@pytest.fixture(autouse=True)
def _example_has_its_result(request, doctest_namespace):
    if not request.node.name.startswith(ASKED):
        yield
        return
    import blockmix as bm

    known = {"bm": bm, "post": request.getfixturevalue("asked_post")}
    doctest_namespace.update(known)
    yield
    for name in known:
        del doctest_namespace[name]
