"""Constants of `scir` that were chosen by measurement, each with its evidence in docs/lab-notes.md or a benchmark.

Defaults that a user can set are in `options`; limits that only keep numbers finite are beside the code they guard.
"""

from __future__ import annotations

# The dense form of the diffusion is the faster one up to so many communities: benchmarks/forms.py.
MOST_DENSE = 8
# A neighbour's community is in the local lists from this weight on. Any value is exact; this one was the fastest (lab
# notes, "a node update in 1.6 instead of 2.8 microseconds").
LEAST_LISTED = 0.03
# Below this |v| five terms of the series of log(1 - v) are exact to 2e-13, and cheaper (the same entry).
SERIES_LIMIT = 0.01
# The tilt of a community stays above this, so that proposals stay bounded. Any positive value is exact (G2); other
# values were not compared.
LEAST_TILT = 0.2
# Births of a node in a sweep on average, at most: a larger K alpha raises the smallest phi kept. Not compared.
MOST_EXPECTED_BIRTHS = 8.0
# A node without links has nothing but births. With the smallest phi of the others it would lose a seventh of its
# chances of a link (lab notes, "nodes without links").
SMALLER_WITHOUT_LINKS = 2e-4
MOST_EXPECTED_BIRTHS_WITHOUT_LINKS = 32.0
# In the first sweeps of warm-up the background explains at most this share of the density: left free, it can take all
# links before communities have formed, and they never do (lab notes, "the start").
BACKGROUND_HELD_DOWN, BACKGROUND_SHARE = 50, 0.1
# In the first sweeps of warm-up K alpha stays where it starts, also where it is learned: rows are those of the start.
# Other lengths were not compared.
CONCENTRATION_HELD = 50
# The step h in warm-up, WARM_UP_STEP/sqrt(1 + sweep/WARM_UP_DECAY): the schedule of the first prototype, kept.
WARM_UP_STEP, WARM_UP_DECAY = 2.0, 50.0
# Nodes of one batch move at the same time, each given the old rows of the others. A large network has so many batches.
BATCHES = 5
# Up to so many nodes a sweep is exact: node by node, with non-links summed member by member. Beyond that a sum takes
# longer than all else that is done for a node, and non-links are in closed form (lab notes, "exact sums").
MOST_EXACT = 2048
# Events a link or node at most, where networks have fewer than one: it keeps memory bounded where the background is
# next to one, and strengths below it then forbid non-links.
EVENTS_A_LINK = 50.0
# Slice sampling: the width at first, in standard deviations of the law, and how often a slice is narrowed at most,
# where three times are typical. Any width is exact; others were not compared.
SLICE_WIDTH, SLICE_STEPS = 3.0, 200
# A batch of fewer nodes is copied into the table sooner than a second thread has started: benchmarks/speed.py.
WORTH_COMMITTING_TOGETHER = 8192
