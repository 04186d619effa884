"""Purposes of random numbers differ, fit their field of the counter, and have one registry."""

import ast
from pathlib import Path

import blockmix
from blockmix.numerics import purposes

SOURCE = Path(blockmix.__file__).parent
PURPOSES = {name: value for name, value in vars(purposes).items() if name.startswith("DRAW_")}
TREES = {path: ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}


def test_all_purposes_differ():
    assert len(set(PURPOSES.values())) == len(PURPOSES) > 0


def test_a_purpose_fits_the_16_bits_that_the_counter_has_for_it():
    assert all(type(value) is int and 0 < value < 2**16 for value in PURPOSES.values())


def test_no_other_module_defines_a_purpose():
    elsewhere = [
        (path.name, node.id)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.startswith("DRAW_")
        if path != Path(purposes.__file__)
    ]
    assert elsewhere == []


def test_no_call_names_a_purpose_by_a_number():
    numbers = [
        (path.name, call.lineno)
        for path, tree in TREES.items()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "stream_word"
        if any(isinstance(part, ast.Constant) for part in ast.walk(call.args[0]))
    ]
    assert numbers == []


def test_every_purpose_is_in_use():
    used = {
        node.id
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    assert PURPOSES.keys() <= used
