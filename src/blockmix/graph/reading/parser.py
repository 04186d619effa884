"""The byte parser: a block of whole lines in, pairs of labels out, or the exact byte that is wrong.

Kernels see only arrays. A block is a writable byte buffer whose last byte is a line feed, so that inner loops
need no bounds check. Integer labels are parsed to numbers, text labels to (start, length, hash) of the token.
A label counts as an integer only in its canonical spelling: `007` and `+7` are text, because as the number 7
they would not be written as the user's own labels.

A separator is the byte itself: a comma, a semicolon, a pipe, a tab, or BLANKS for any run of blanks and tabs. Integers
may also be parsed by the rule `ANY`, which takes blanks, tabs and commas as they come.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import checked_njit as njit
from blockmix.numerics.hashing import hash_bytes

OK = 0
NOT_INTEGER = 1
ONE_COLUMN = 2
OVERFLOW = 3
NUL = 4
LONE_CR = 5
EMPTY_FIELD = 6
BAD_UTF8 = 7
OPEN_QUOTE = 8
AFTER_QUOTE = 9
NO_COLUMN = 10
BAD_WEIGHT = 11
ZERO_WEIGHT = 12
HUGE_WEIGHT = 13

BLANKS, TABS, COMMAS, SEMICOLONS, PIPES = 32, 9, 44, 59, 124
ANY = 0

_LF, _CR, _TAB, _SPACE, _COMMA, _QUOTE = 10, 13, 9, 32, 44, 34
_HASH, _PERCENT, _ZERO, _NINE, _MINUS = 35, 37, 48, 57, 45
_SAFE_DIGITS = 18
_LARGEST = np.uint64(2**63 - 1)


@njit(cache=True, nogil=True, inline="always")
def _at_line_end(buf, i):  # type: ignore[no-untyped-def]
    return buf[i] == _LF or (buf[i] == _CR and buf[i + 1] == _LF)


@njit(cache=True, nogil=True)
def _skip_blanks(buf, i):  # type: ignore[no-untyped-def]
    while buf[i] == _SPACE or buf[i] == _TAB:
        i += 1
    return i


@njit(cache=True, nogil=True)
def _skip_line(buf, i):  # type: ignore[no-untyped-def]
    """Return (status, place): the start of the next line, or a byte before it that no text file has."""
    while buf[i] != _LF:
        if buf[i] == 0:
            return NUL, i
        if buf[i] == _CR and buf[i + 1] != _LF:
            return LONE_CR, i
        i += 1
    return OK, i + 1


@njit(cache=True, nogil=True)
def _skip_fields(buf, i, mark):  # type: ignore[no-untyped-def]
    """Return (status, place) like `_skip_line`; a quoted field that goes on in the next line is an error."""
    while True:
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
        while buf[i] != mark and buf[i] != _LF:
            if buf[i] == 0:
                return NUL, i
            if buf[i] == _CR and buf[i + 1] != _LF:
                return LONE_CR, i
            i += 1
        if buf[i] == _LF:
            return OK, i + 1
        i = _skip_blanks(buf, i + 1)


@njit(cache=True, nogil=True)
def _is_empty(buf, i, mark):  # type: ignore[no-untyped-def]
    """Return whether a line has no field with anything in it, as spreadsheets write empty rows."""
    while buf[i] == mark or buf[i] == _SPACE or buf[i] == _TAB:
        i += 1
    return _at_line_end(buf, i)


@njit(cache=True, nogil=True)
def _rest_of_record(buf, i, mark):  # type: ignore[no-untyped-def]
    """Skip what follows the second label: (status, place, extra); extra is 1 where there are more columns."""
    i = _skip_blanks(buf, i)
    marked = buf[i] == mark and mark > _SPACE
    if buf[i] == mark:
        i = _skip_blanks(buf, i + 1)
    extra = 0 if _at_line_end(buf, i) or buf[i] == _HASH or buf[i] == _PERCENT else 1
    if marked and extra:
        status, i = _skip_fields(buf, i, mark)
    else:
        status, i = _skip_line(buf, i)
    return status, i, extra


@njit(cache=True, nogil=True)
def _ends_label(c, mark):  # type: ignore[no-untyped-def]
    return c in (_SPACE, _TAB, _LF, _CR) or c == mark


@njit(cache=True, nogil=True)
def _integer(buf, i, mark):  # type: ignore[no-untyped-def]
    """Parse one integer, also in double quotes: (status, value, place behind it)."""
    quoted = buf[i] == _QUOTE
    if quoted:
        i += 1
    negative = buf[i] == _MINUS
    if negative:
        i += 1
    first = i
    value = np.uint64(0)
    while _ZERO <= buf[i] <= _NINE:
        if i - first < 19:
            value = value * np.uint64(10) + np.uint64(buf[i] - _ZERO)
        i += 1
    digits = i - first
    if digits == 0 or (buf[first] == _ZERO and (digits > 1 or negative)):
        return NOT_INTEGER, np.int64(0), i
    if quoted:
        if buf[i] != _QUOTE:
            return NOT_INTEGER, np.int64(0), i
        i += 1
    if not _ends_label(buf[i], mark):
        return NOT_INTEGER, np.int64(0), i
    if digits > 19 or value > _LARGEST + np.uint64(negative):
        return OVERFLOW, np.int64(0), i
    signed = np.int64(value)
    return OK, -signed if negative else signed, i


@njit(cache=True, nogil=True)
def _integer_record(buf, i, separator):  # type: ignore[no-untyped-def]
    """Parse any line: (status, place, a, b, extra, found); found is 0 for blank lines and comments."""
    a = np.int64(0)
    b = np.int64(0)
    mark = _COMMA if separator == ANY else separator
    i = _skip_blanks(buf, i)
    if _at_line_end(buf, i) or buf[i] == _HASH or buf[i] == _PERCENT:
        status, i = _skip_line(buf, i)
        return status, i, a, b, 0, 0
    if buf[i] == mark:
        if _is_empty(buf, i, mark):
            status, i = _skip_line(buf, i)
            return status, i, a, b, 0, 0
        return EMPTY_FIELD, i, a, b, 0, 0
    status, a, after = _integer(buf, i, mark)
    if status != OK:
        return status, i, a, b, 0, 0
    i = after
    while buf[i] == _SPACE or (buf[i] == _TAB and mark != _TAB):
        i += 1
    marked = buf[i] == mark
    if marked:
        i = _skip_blanks(buf, i + 1)
    empty = buf[i] == mark or (marked and mark > _SPACE)
    if _at_line_end(buf, i) or buf[i] == mark:
        return EMPTY_FIELD if empty else ONE_COLUMN, i, a, b, 0, 0
    if buf[i] == _CR:
        return LONE_CR, i, a, b, 0, 0
    if not marked and separator != ANY and separator != BLANKS:
        # A blank inside a label, which is therefore text.
        return NOT_INTEGER, i, a, b, 0, 0
    status, b, after = _integer(buf, i, mark)
    if status != OK:
        return status, i, a, b, 0, 0
    if separator != ANY and separator != BLANKS:
        behind = _skip_blanks(buf, after)
        if separator == _TAB:
            behind = after
        if not (buf[behind] == mark or _at_line_end(buf, behind)):
            return NOT_INTEGER, i, a, b, 0, 0
    status, i, extra = _rest_of_record(buf, after, mark)
    return status, i, a, b, extra, 1


@njit(cache=True, nogil=True)
def parse_integers(buf, size, separator, pairs):  # type: ignore[no-untyped-def]
    """Parse lines of integer labels from buf[:size] into pairs; `separator` may be ANY.

    Return (status, records, lines, extra, line start, place): after an error, `lines` are the whole lines
    before it and `place` is the byte where it is.

    The usual line of ANY, two short runs of digits, is parsed here in one piece: split into functions it takes twice
    the time, because the compiler then no longer sees that places are never negative. Everything else is parsed by
    `_integer_record`.
    """
    i, records, lines, extras = 0, 0, 0, 0
    while i < size:
        start = i
        a = np.int64(buf[i]) - _ZERO
        b = np.int64(0)
        plain = bool(0 <= a <= 9) and separator == ANY
        if plain:
            i += 1
            digit = np.int64(buf[i]) - _ZERO
            plain = bool(a != 0 or not 0 <= digit <= 9)
            while 0 <= digit <= 9:
                a = a * 10 + digit
                i += 1
                digit = np.int64(buf[i]) - _ZERO
            plain &= i - start <= _SAFE_DIGITS and (buf[i] == _SPACE or buf[i] == _TAB or buf[i] == _COMMA)
        if plain:
            i += 1
            second = i
            b = np.int64(buf[i]) - _ZERO
            plain = bool(0 <= b <= 9)
            if plain:
                i += 1
                digit = np.int64(buf[i]) - _ZERO
                plain = bool(b != 0 or not 0 <= digit <= 9)
                while 0 <= digit <= 9:
                    b = b * 10 + digit
                    i += 1
                    digit = np.int64(buf[i]) - _ZERO
                plain &= i - second <= _SAFE_DIGITS
                if plain and buf[i] == _LF:
                    pairs[records, 0] = a
                    pairs[records, 1] = b
                    records += 1
                    lines += 1
                    i += 1
                    continue
                plain &= buf[i] == _SPACE or buf[i] == _TAB or buf[i] == _COMMA
        if plain:
            found = 1
            status, i, extra = _rest_of_record(buf, i, _COMMA)
        else:
            status, i, a, b, extra, found = _integer_record(buf, start, separator)
        if status != OK:
            return status, records, lines, extras, start, i
        if found:
            pairs[records, 0] = a
            pairs[records, 1] = b
            records += 1
            extras += extra
        lines += 1
    return OK, records, lines, extras, i, i


@njit(cache=True, nogil=True)
def _valid_utf8(buf, i, end):  # type: ignore[no-untyped-def]
    """Return the first byte of buf[i:end] that is not well-formed UTF-8 (RFC 3629), or `end`."""
    while i < end:
        c = buf[i]
        low, high = 0x80, 0xBF
        if c < 0x80:
            i += 1
            continue
        if 0xC2 <= c <= 0xDF:
            more = 1
        elif 0xE0 <= c <= 0xEF:
            more = 2
            low = 0xA0 if c == 0xE0 else 0x80
            high = 0x9F if c == 0xED else 0xBF
        elif 0xF0 <= c <= 0xF4:
            more = 3
            low = 0x90 if c == 0xF0 else 0x80
            high = 0x8F if c == 0xF4 else 0xBF
        else:
            return i
        if i + more >= end or not low <= buf[i + 1] <= high:
            return i
        for k in range(2, more + 1):
            if not 0x80 <= buf[i + k] <= 0xBF:
                return i
        i += more + 1
    return end


@njit(cache=True, nogil=True)
def _separates(c, separator):  # type: ignore[no-untyped-def]
    return c == separator or (separator == BLANKS and c == _TAB)


@njit(cache=True, nogil=True)
def _quoted_text(buf, i, separator):  # type: ignore[no-untyped-def]
    """Parse a quoted label: (status, start, end, place); undo doubled quotes in place.

    Nothing else is changed: an error message quotes the line.
    """
    i += 1
    start = i
    end = i
    while True:
        if buf[i] == _LF or (buf[i] == _CR and buf[i + 1] == _LF):
            return OPEN_QUOTE, start, start, start - 1
        if buf[i] == 0 or buf[i] == _CR:
            return NUL if buf[i] == 0 else LONE_CR, start, start, i
        if buf[i] == _QUOTE:
            i += 1
            if buf[i] != _QUOTE:
                break
        buf[end] = buf[i]
        end += 1
        i += 1
    after = _skip_blanks(buf, i) if separator > BLANKS else i
    while separator == TABS and buf[after] == _SPACE:
        after += 1
    if not (_separates(buf[after], separator) or _at_line_end(buf, after)):
        return AFTER_QUOTE, start, start, after
    return OK, start, end, after


@njit(cache=True, nogil=True)
def _text(buf, i, separator):  # type: ignore[no-untyped-def]
    """Parse one label: (status, start, end, place); place is the separator or line end behind it."""
    began = i
    if buf[i] == _QUOTE:
        status, start, end, i = _quoted_text(buf, i, separator)
        if status != OK:
            return status, start, end, i
    else:
        start = i
        while not (_separates(buf[i], separator) or buf[i] == _LF):
            if buf[i] == 0:
                return NUL, start, start, i
            if buf[i] == _CR:
                if buf[i + 1] == _LF:
                    break
                return LONE_CR, start, start, i
            i += 1
        end = i
        while end > start and (buf[end - 1] == _SPACE or buf[end - 1] == _TAB):
            end -= 1
    if end == start:
        return EMPTY_FIELD, start, start, began
    bad = _valid_utf8(buf, start, end)
    if bad < end:
        return BAD_UTF8, start, start, bad
    return OK, start, end, i


@njit(cache=True, nogil=True)
def _text_record(buf, i, separator):  # type: ignore[no-untyped-def]
    """Parse any line: (status, place, start and end of both labels, extra, found)."""
    i = _skip_blanks(buf, i)
    if _at_line_end(buf, i) or buf[i] == _HASH or buf[i] == _PERCENT:
        status, i = _skip_line(buf, i)
        return status, i, 0, 0, 0, 0, 0, 0
    if buf[i] == separator and _is_empty(buf, i, separator):
        status, i = _skip_line(buf, i)
        return status, i, 0, 0, 0, 0, 0, 0
    status, a, a_end, i = _text(buf, i, separator)
    if status != OK:
        return status, i, 0, 0, 0, 0, 0, 0
    if _at_line_end(buf, i):
        return ONE_COLUMN, i, 0, 0, 0, 0, 0, 0
    i = _skip_blanks(buf, i + 1)
    if _at_line_end(buf, i):
        return EMPTY_FIELD if separator > BLANKS else ONE_COLUMN, i, 0, 0, 0, 0, 0, 0
    status, b, b_end, i = _text(buf, i, separator)
    if status != OK:
        return status, i, 0, 0, 0, 0, 0, 0
    status, i, extra = _rest_of_record(buf, i, separator)
    return status, i, a, a_end, b, b_end, extra, 1


@njit(cache=True, nogil=True)
def parse_texts(buf, size, separator, key, spans, hashes):  # type: ignore[no-untyped-def]
    """Parse lines of text labels: two (start, end) spans and two keyed hashes a record; return the same values.

    Equal hashes are always checked byte by byte, so a collision costs time and nothing else.
    """
    i, records, lines, extras = 0, 0, 0, 0
    while i < size:
        line = i
        status, i, a, a_end, b, b_end, extra, found = _text_record(buf, i, separator)
        if status != OK:
            return status, records, lines, extras, line, i
        if found:
            spans[2 * records, 0] = a
            spans[2 * records, 1] = a_end
            spans[2 * records + 1, 0] = b
            spans[2 * records + 1, 1] = b_end
            hashes[2 * records] = hash_bytes(buf, a, a_end, key)
            hashes[2 * records + 1] = hash_bytes(buf, b, b_end, key)
            records += 1
            extras += extra
        lines += 1
    return OK, records, lines, extras, i, i
