"""Choosing columns: lines of a table in, lines of two labels out, so that one parser reads every table.

Lines stay lines, comments and blank ones as empty lines, so that an error still has its line number. Weights are
read here, digit by digit: zero, negative, infinite or not a number is an error.
"""

from __future__ import annotations

import numpy as np

from blockmix.graph.reading.parser import (
    BAD_WEIGHT,
    BLANKS,
    EMPTY_FIELD,
    HUGE_WEIGHT,
    LONE_CR,
    NO_COLUMN,
    NUL,
    OK,
    OPEN_QUOTE,
    ZERO_WEIGHT,
)
from blockmix.numerics.compile import checked_njit as njit

# Digits of a weight that count, and a power of ten beyond all numbers.
_MOST_DIGITS, _LARGEST_POWER = 18, 10_000
_LF, _CR, _TAB, _SPACE, _QUOTE, _HASH, _PERCENT, _PLUS, _MINUS, _DOT = 10, 13, 9, 32, 34, 35, 37, 43, 45, 46


@njit(cache=True, nogil=True)
def _field_end(buf, i, separator):  # type: ignore[no-untyped-def]
    """Return (status, place behind the field that begins at i): a separator or the end of the line."""
    if buf[i] == _QUOTE:
        start = i
        i += 1
        while True:
            if buf[i] == _LF:
                return OPEN_QUOTE, start
            if buf[i] == _QUOTE:
                i += 1
                if buf[i] != _QUOTE:
                    break
            i += 1
    while buf[i] != _LF and buf[i] != separator and not (separator == BLANKS and buf[i] == _TAB):
        if buf[i] == 0:
            return NUL, i
        if buf[i] == _CR:
            return (OK if buf[i + 1] == _LF else LONE_CR), i
        i += 1
    return OK, i


@njit(cache=True, nogil=True)
def _digits(buf, i, end, number):  # type: ignore[no-untyped-def]
    """Append a run of digits to a number: (place behind the run, the number).

    A number is (its first digits as a whole number, how many they are, the power of ten that they are to be multiplied
    with, and what a further digit adds to it: 0 before the point, -1 behind).
    """
    value, kept, power, point = number
    while i < end and 48 <= buf[i] <= 57:
        if kept < _MOST_DIGITS:
            value = value * np.uint64(10) + np.uint64(buf[i] - np.uint8(48))
            kept += 1 if value > 0 else 0
            power += point
        else:
            power += 1 + point
        i += 1
    return i, (value, kept, power, point)


@njit(cache=True, nogil=True)
def _scaled(value, power):  # type: ignore[no-untyped-def]
    """Return value * 10^power; exact to the last bit up to 15 digits and powers of 22, to a few bits elsewhere."""
    number = np.float64(value)
    while power > 0 and number < np.inf:
        step = min(power, 22)
        number *= 10.0**step
        power -= step
    while power < 0 and number > 0.0:
        step = min(-power, 22)
        number /= 10.0**step
        power += step
    return number


@njit(cache=True, nogil=True)
def _read_weight(buf, i, end):  # type: ignore[no-untyped-def]
    """Return (OK, weight) of a positive decimal number, ZERO_WEIGHT for zero or a negative one, else BAD_WEIGHT."""
    while i < end and (buf[i] == _SPACE or buf[i] == _TAB or buf[i] == _QUOTE):
        i += 1
    while end > i and (buf[end - 1] == _SPACE or buf[end - 1] == _TAB or buf[end - 1] == _QUOTE):
        end -= 1
    negative = i < end and buf[i] == _MINUS
    if negative or (i < end and buf[i] == _PLUS):
        i += 1
    first = i
    i, (value, kept, power, _) = _digits(buf, i, end, (np.uint64(0), 0, 0, 0))
    digits = i - first
    if i < end and buf[i] == _DOT:
        first = i + 1
        i, (value, kept, power, _) = _digits(buf, first, end, (value, kept, power, -1))
        digits += i - first
    if digits == 0:
        return BAD_WEIGHT, 0.0
    if i < end and (buf[i] == 101 or buf[i] == 69):
        i += 1
        below = i < end and buf[i] == _MINUS
        if i < end and (buf[i] == _PLUS or buf[i] == _MINUS):
            i += 1
        first = i
        exponent = 0
        while i < end and 48 <= buf[i] <= 57:
            exponent = exponent * 10 + int(buf[i]) - 48 if exponent < _LARGEST_POWER else _LARGEST_POWER
            i += 1
        if i == first:
            return BAD_WEIGHT, 0.0
        power += -exponent if below else exponent
    if i != end:
        return BAD_WEIGHT, 0.0
    if value == 0 or negative:
        return ZERO_WEIGHT, 0.0
    number = _scaled(value, power)
    if not 0.0 < number < np.inf:
        return HUGE_WEIGHT, 0.0
    return OK, number


@njit(cache=True, nogil=True)
def pick_columns(buf, size, rule, spans, out, weights):  # type: ignore[no-untyped-def]
    """Write the two labels of every line of buf[:size] to `out`, which is twice as long, and its weight to `weights`.

    `rule` is (separator, whether runs of it are one, places of the first and second label and of the weight, or -1);
    `spans` is scratch memory for three fields. Return (status, records, lines, extra, line start, place, bytes
    written).
    """
    separator, merge, first, second, weight = rule
    last = max(first, second, weight)
    glue = np.uint8(_TAB if separator == BLANKS else separator)
    i, at, records, lines, extras = 0, 0, 0, 0, 0
    while i < size:
        start = i
        while buf[i] == _SPACE or (buf[i] == _TAB and (merge or separator != _TAB)):
            i += 1
        empty = i
        while buf[empty] == separator or buf[empty] == _SPACE or buf[empty] == _TAB:
            empty += 1
        if (
            buf[empty] == _LF
            or (buf[empty] == _CR and buf[empty + 1] == _LF)
            or buf[i] == _HASH
            or buf[i] == _PERCENT
        ):
            while buf[i] != _LF:
                if buf[i] == 0:
                    return NUL, records, lines, extras, start, i, at
                i += 1
            i += 1
            out[at] = _LF
            at += 1
            lines += 1
            continue
        place = 0
        while True:
            status, end = _field_end(buf, i, separator)
            if status != OK:
                return status, records, lines, extras, start, end, at
            for k in range(3):
                if place == (first, second, weight)[k]:
                    spans[k, 0], spans[k, 1] = i, end
            place += 1
            i = end
            if buf[i] == _LF or buf[i] == _CR:
                break
            i += 1
            while (
                buf[i] == _SPACE
                or (buf[i] == _TAB and (merge or separator != _TAB))
                or (merge and buf[i] == separator)
            ):
                i += 1
            if merge and (buf[i] == _LF or buf[i] == _CR):
                break
        if place <= last:
            return NO_COLUMN, records, lines, extras, start, i, at
        if spans[0, 0] == spans[0, 1] or spans[1, 0] == spans[1, 1]:
            return EMPTY_FIELD, records, lines, extras, start, start, at
        if weight >= 0:
            status, weights[records] = _read_weight(buf, spans[2, 0], spans[2, 1])
            if status != OK:
                return status, records, lines, extras, start, spans[2, 0], at
        for k in range(2):
            for j in range(spans[k, 0], spans[k, 1]):
                out[at] = buf[j]
                at += 1
            out[at] = glue if k == 0 else np.uint8(_LF)
            at += 1
        while buf[i] != _LF:
            if buf[i] == _CR and buf[i + 1] != _LF:
                return LONE_CR, records, lines, extras, start, i, at
            i += 1
        i += 1
        records += 1
        extras += place > (2 if weight < 0 else 3)
        lines += 1
    return OK, records, lines, extras, i, i, at
