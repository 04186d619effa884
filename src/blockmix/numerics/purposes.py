"""The registry of purposes that random numbers are drawn for: one number each, for all samplers.

With the slot a purpose makes the third counter word of Philox (`philox.stream_word`). Two call sites that share a
purpose, a node, an iteration and a slot read the same words, without any error: a new call site takes a new
number here. A purpose is below 2**16 (tests/numerics/test_purposes.py).
"""

from __future__ import annotations

# scir, the diffusion and births of either move
DRAW_JUMPS = 1
DRAW_SIZE = 2
DRAW_NEIGHBORS = 3
DRAW_BIRTHS = 4
DRAW_BIRTH_SIZE = 5
DRAW_BIRTH_PLACE = 6
DRAW_NON_LINKS = 7
# scir, strengths
DRAW_STRENGTH_JUMPS = 8
DRAW_STRENGTH_SIZE = 9
# scir, link indicators
DRAW_LINK = 10
DRAW_RETRY = 11
DRAW_TEST = 12
DRAW_KEEP = 13
# scir, popularity model; sizes, births and the test as above
DRAW_UNITS = 14
DRAW_MORE_UNITS = 15
DRAW_UNIT_AGAIN = 16
DRAW_UNIT_RETRY = 17
DRAW_POPULARITY = 18
DRAW_PAIR_UNITS = 19
DRAW_MORE_PAIR_UNITS = 20
DRAW_RATE = 21
DRAW_SPREAD = 22
DRAW_SCALE = 23
# scir, events of non-links and the exact move of strengths
DRAW_EVENT = 24
DRAW_INSIDE = 25
DRAW_SLICE = 26
# scir, the concentration of memberships
DRAW_CONCENTRATION = 27
# scir, popularity model, the size of a unit of a weight
DRAW_UNIT_SHAPE = 28
DRAW_UNIT_SIZE = 29
# mini-batches of sgmc, sgmc-m and svi
DRAW_BATCH = 32
DRAW_BATCH_NON_LINKS = 33
DRAW_PARTNERS = 34
DRAW_NON_PARTNERS = 35
# sgmc and sgmc-m; the noise of a community is the same in both
DRAW_MEMBERSHIPS = 36
DRAW_STRENGTHS = 37
DRAW_SUBSET = 38
# sgmc-m
DRAW_BULK = 48
DRAW_BULK_SAMPLE = 49
DRAW_PROMOTED = 50
DRAW_SHARE = 51
DRAW_SHARE_LEFT = 52
# lmc
DRAW_PROPOSAL = 64
DRAW_ACCEPT = 65
DRAW_COMPONENT = 66
DRAW_REFRESH = 67
# cgs
DRAW_START = 68
DRAW_PAIR = 69
DRAW_MEMBERSHIP = 70
DRAW_STRENGTH = 71
# svi
DRAW_MEMBERSHIP_FACTOR = 80
DRAW_STRENGTH_FACTOR = 81
