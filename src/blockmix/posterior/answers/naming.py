"""Names of communities: their strongest members, the values of an attribute that mark them out, or words of a text.

Values and words are ranked by z of `attributes`: the membership of the nodes that have one, against what it would be
if it were given to as many nodes at random. Where nearly every node has a text of its own, such as a title or an
address, what marks a community out are words: a node has a word or not, however often it is written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from blockmix.graph.attributes import Attribute
from blockmix.posterior.answers.attributes import FEWEST_NODES, MOST_VALUES, attribute_cells, attribute_of
from blockmix.posterior.answers.shares import check_top, labels_of, mean_shares

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# Texts are taken apart into words if there are more of them than this, for each node that has one.
_OWN_TEXTS = 0.5
# Words begin with a letter and have two or more. Of very many the most frequent are compared.
_WORD, MOST_WORDS = re.compile(r"[^\W\d_][\w'’-]*\w"), 50_000


def names(post: Posterior, by: str | None, top: int) -> dict[int, str]:
    """See `Posterior.names`."""
    top = check_top(top)
    if by is None:
        covers = post.covers()
        return {k: ", ".join(map(str, labels_of(post, found[:top]))) for k, found in covers.items()}
    attribute = attribute_of(post, by)
    if _has_words(attribute):
        return _by_words(post, attribute, top)
    cells = attribute_cells(post, attribute.as_text())
    return {number: _best(cells.z[number], cells.values, top) for number in post.covers()}


def _best(score: NDArray[np.float64], values: list[str], top: int) -> str:
    """Return the values with the highest scores above zero."""
    few = np.argsort(-score, kind="stable")[:top]
    return ", ".join(values[i] for i in few.tolist() if score[i] > 0)


def _has_words(attribute: Attribute) -> bool:
    """Return whether an attribute has texts, too many or too rare ones to mark communities out as they are."""
    count = len(attribute.categories or ())
    return attribute.numbers is None and count > min(
        MOST_VALUES, _OWN_TEXTS * np.count_nonzero(attribute.known)
    )


def _by_words(post: Posterior, attribute: Attribute, top: int) -> dict[int, str]:
    """Return for every community the words with the highest z, of those that two nodes or more have."""
    known = np.flatnonzero(attribute.known)
    words, has = _words_of(attribute, known)
    count = len(known)
    having = np.asarray(has.sum(axis=0)).ravel()
    spread = having * (1.0 - having / count) / max(count - 1, 1)
    columns = sp.csc_array(mean_shares(post)[known])
    found = {}
    for number in post.covers():
        held = slice(columns.indptr[number], columns.indptr[number + 1])
        nodes, shares = columns.indices[held], columns.data[held]
        size = shares.sum()
        scale = np.sqrt(max(float(shares @ shares) - size**2 / count, 0.0) * spread)
        above = np.asarray(shares @ has[nodes]).ravel() - size * having / count
        z = np.divide(above, scale, out=np.zeros(len(words)), where=scale > 1e-12)
        found[number] = _best(z, words, top)
    return found


def _words_of(attribute: Attribute, known: NDArray[np.int64]) -> tuple[list[str], sp.csr_array]:
    """Return the words that several nodes have, in alphabetical order, and which of the nodes has which."""
    places: dict[str, int] = {}
    texts = [{word.lower() for word in _WORD.findall(str(text))} for text in attribute.categories or ()]
    column = [places.setdefault(word, len(places)) for words in texts for word in sorted(words)]
    offsets = np.concatenate(([0], np.cumsum([len(words) for words in texts]))).astype(np.int64)
    shape = (len(texts), len(places))
    codes = np.asarray(attribute.codes)[known]
    has = sp.csr_array((np.ones(len(column)), np.array(column, dtype=np.int64), offsets), shape=shape)[codes]
    having = np.asarray(has.sum(axis=0)).ravel()
    order = np.argsort(-having, kind="stable")[:MOST_WORDS]
    listed = list(places)
    kept = sorted(order[having[order] >= FEWEST_NODES].tolist(), key=listed.__getitem__)
    return [listed[i] for i in kept], sp.csr_array(has[:, kept])
