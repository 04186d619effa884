"""Arrays from a folder are checked when they are read: type, size, range, order."""

import numpy as np
import pytest

from blockmix import stored
from blockmix.files import Damaged
from blockmix.stored import (
    Checksums,
    check_finite,
    check_name,
    check_offsets,
    check_range,
    file_entry,
    read_array,
)

LONG = 1 << 18


@pytest.mark.parametrize("mmap", [False, True])
def test_what_numpy_saves_comes_back(tmp_path, mmap):
    for array in (
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.zeros((0, 2)),
        np.array([True]),
        np.array(3.5),
    ):
        np.save(tmp_path / "a.npy", array)
        with Checksums() as sums:
            found = read_array(tmp_path / "a.npy", mapped_by=sums if mmap else None)
        assert type(found) is np.ndarray
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


def test_a_checksum_that_does_not_match_is_the_error_that_counts(tmp_path):
    """The content is checked at the same time, and what that finds may be a consequence."""
    np.save(tmp_path / "a.npy", np.arange(6))
    entry = file_entry(tmp_path / "a.npy") | {"sha256": "0" * 64}
    with pytest.raises(Damaged, match=r"^a\.npy: it does not match its checksum$"), Checksums() as sums:
        check_range("a", read_array(tmp_path / "a.npy", entry=entry, mapped_by=sums), 3)


@pytest.mark.parametrize("at", [0, 5, 6, 14, 19])
def test_long_arrays_are_checked_in_the_pass_over_their_file(tmp_path, monkeypatch, at):
    """Parts of four entries. Nothing is raised before the end of the block, where every file has been read once."""
    monkeypatch.setattr(stored, "_AT_ONCE", 16)
    numbers = np.ones(20, dtype=np.float32)
    numbers[at] = np.nan
    np.save(tmp_path / "good.npy", np.ones(20, dtype=np.float32))
    np.save(tmp_path / "wrong.npy", numbers)
    entries = {name: file_entry(tmp_path / f"{name}.npy") for name in ("good", "wrong")}
    reached = []

    def load(entries, names):
        with Checksums() as sums:
            for name in names:
                array = read_array(tmp_path / f"{name}.npy", entry=entries[name], mapped_by=sums)
                check_finite(name, array.reshape(4, 5), 0.0, 1.0, sums)
            reached.append(names)

    load(entries, ["good"])
    with pytest.raises(Damaged, match=f"^wrong: entry {at} is nan"):
        load(entries, ["good", "wrong"])
    assert reached == [["good"], ["good", "wrong"]]
    # The checksum counts, that of another file too.
    entries["good"]["sha256"] = "0" * 64
    with pytest.raises(Damaged, match=r"^good\.npy: it does not match its checksum$"):
        load(entries, ["good", "wrong"])


def test_what_is_not_all_of_a_file_is_checked_at_once(tmp_path, monkeypatch):
    """A part, a copy or other numbers in the place of the entries: the pass over the file does not see them."""
    monkeypatch.setattr(stored, "_AT_ONCE", 16)
    np.save(tmp_path / "a.npy", np.arange(20, dtype=np.int32))
    entry = file_entry(tmp_path / "a.npy")
    for change in (lambda a: a[:10], lambda a: a[::-1], lambda a: a + 0, lambda a: a.view(np.uint32)):
        with Checksums() as sums:
            array = read_array(tmp_path / "a.npy", entry=entry, mapped_by=sums)
            with pytest.raises(Damaged, match="a: entry"):
                check_range("a", change(array), 5, sums=sums)


def test_an_interrupt_is_not_taken_for_damage(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6))
    entry = file_entry(tmp_path / "a.npy") | {"sha256": "0" * 64}

    def interrupted():
        with Checksums() as sums:
            read_array(tmp_path / "a.npy", entry=entry, mapped_by=sums)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


@pytest.mark.parametrize("mmap", [False, True])
def test_entries_that_are_not_aligned_are_refused(tmp_path, mmap):
    np.save(tmp_path / "a.npy", np.arange(6))
    data = (tmp_path / "a.npy").read_bytes()
    # One blank less in the header, and its length to match.
    (tmp_path / "a.npy").write_bytes(data[:8] + bytes([data[8] - 1]) + data[9:126] + b"\n" + data[128:])
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), np.arange(6))
    with pytest.raises(Damaged, match="multiple of 16"), Checksums() as sums:
        read_array(tmp_path / "a.npy", mapped_by=sums if mmap else None)


@pytest.mark.parametrize("at", [0, 1, LONG // 2, LONG - 1])
def test_one_wrong_entry_is_found_wherever_it_is(at):
    good = np.zeros(LONG, dtype=np.int32)
    check_range("a", good, 1)
    good[at] = 1
    with pytest.raises(Damaged, match=f"a: entry {at} is 1, outside 0 .. 0"):
        check_range("a", good, 1)
    numbers = np.zeros(LONG, dtype=np.float32)
    check_finite("a", numbers)
    numbers[at] = np.nan
    with pytest.raises(Damaged, match=f"a: entry {at} is nan"):
        check_finite("a", numbers)


@pytest.mark.parametrize("dtype", ["i4", "i8", "u1", "u2", "u4"])
def test_whole_numbers_are_compared_with_both_ends(dtype):
    """By their bits where the range begins at zero; also where its end is beyond what the type can hold."""
    kind = np.iinfo(dtype)
    check_range("a", np.array([0, 59], dtype=dtype), 60)
    check_range("a", np.array([0, kind.max], dtype=dtype), kind.max + 1)
    check_range("a", np.empty(0, dtype=dtype), 0)
    wrong = [60, kind.max] if kind.min == 0 else [60, kind.max, -1, kind.min]
    for value in wrong:
        with pytest.raises(Damaged, match=f"a: entry 1 is {value}, outside 0 .. 59"):
            check_range("a", np.array([3, value], dtype=dtype), 60)
    if kind.min < 0:
        with pytest.raises(Damaged, match="a: entry 0 is -1, outside 0"):
            check_range("a", np.array([-1], dtype=dtype), 2**64)
        check_range("a", np.array([-1, 59], dtype=dtype), 60, -1)
        with pytest.raises(Damaged, match=r"entry 0 is -2, outside -1 .. 59"):
            check_range("a", np.array([-2, 59], dtype=dtype), 60, -1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_numbers_are_compared_with_both_ends(dtype):
    """By their bits where the range begins at zero; a minus zero is a zero."""
    largest, small = np.finfo(dtype).max, np.finfo(dtype).tiny
    check_finite("a", np.array([0.0, 1.0], dtype=dtype), 0.0, 1.0)
    check_finite("a", np.array([-0.0, 1.0], dtype=dtype), 0.0, 1.0)
    check_finite("a", np.array([0.0, largest], dtype=dtype), 0.0)
    above = np.nextafter(np.array(1.0, dtype=dtype), np.array(2.0, dtype=dtype))
    for value in (above, -small, np.inf, -np.inf, np.nan, np.copysign(np.nan, -1.0)):
        with pytest.raises(Damaged, match=r"a: entry 1 is .*, not a number of 0 .. 1"):
            check_finite("a", np.array([0.5, value], dtype=dtype), 0.0, 1.0)
    for value in (np.inf, -small, np.nan):
        with pytest.raises(Damaged, match=r"a: entry 1 is .*, not a number of 0 .. inf"):
            check_finite("a", np.array([0.5, value], dtype=dtype), 0.0)


def test_offsets_must_rise_from_zero_to_the_end():
    check_offsets("a", np.array([0, 0, 2, 2]), 2)
    for wrong in ([0, 2, 1, 2], [1, 1, 2], [0, 1], [], [0, -(2**63), 2**63 - 1, 2]):
        with pytest.raises(Damaged, match="must rise from 0 to 2"):
            check_offsets("a", np.array(wrong, dtype=np.int64), 2)


@pytest.mark.parametrize("name", ["../a", "a/b", "", "a\x1b", "a.b", 3, None, "a" * 100])
def test_names_with_parts_of_a_path_are_refused(name):
    with pytest.raises(Damaged, match="is not the name of an array"):
        check_name(name)
