"""Text stays text: nothing that is put into a page can become markup or end a script."""

import html.parser
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockmix.report.markup import Markup, element, joined, json_block, source_hash, visible, void


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text, self.attributes = [], "", []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.text += data


def read(markup):
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


# A parser may normalise line ends and drop NUL; everything else must come back as it went in, or visible.
texts = st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]))


@given(texts)
def test_text_in_an_element_is_read_back_as_it_was(text):
    reader = read(element("p", text))
    assert reader.tags == ["p"]
    assert reader.text == visible(text)


@given(texts)
def test_text_in_an_attribute_is_read_back_as_it_was(text):
    assert read(void("img", alt=text)).attributes == [("alt", visible(text))]


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\u200f", "\u061c", "\x1b", "\x9b", "\x7f"])
def test_what_reverses_or_hides_text_is_shown(hidden):
    """In elements, attributes and data; text in other scripts, joiners and line ends stay as they are."""
    shown = f"a⟨U+{ord(hidden):04X}⟩b"
    found = read(element("p", f"a{hidden}b", title=f"a{hidden}b"))
    assert (found.text, found.attributes) == (shown, [("title", shown)])
    assert shown in json_block("d", [f"a{hidden}b"])
    for plain in ("שלום", "مرحبا", "👩‍👧", "क्‍ष", "two\nlines\t", "北京"):
        assert visible(plain) == plain


def test_only_markup_is_left_as_it_is():
    assert joined("<b>", Markup("<i>")) == "&lt;b&gt;<i>"


@given(st.lists(st.text()))
def test_data_are_read_back_and_hold_nothing_that_ends_a_script(values):
    block = json_block("data", values)
    inside = block.removeprefix('<script type="application/json" id="data">').removesuffix("</script>")
    assert not set("<>&\u2028\u2029") & set(inside)
    assert json.loads(inside) == [visible(v).encode("utf-8", "replace").decode() for v in values]


def test_what_is_not_a_number_is_null():
    assert "[null,null,1.5]" in json_block("d", [float("nan"), float("inf"), 1.5])


def test_the_hash_is_that_of_the_policy_specification():
    # The example of the Content Security Policy specification, level 3.
    assert source_hash("alert('Hello, world.');") == "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"


@pytest.mark.parametrize(("value", "shown"), [(True, " hidden"), (False, ""), (None, "")])
def test_attributes_that_are_switches(value, shown):
    assert element("p", hidden=value) == f"<p{shown}></p>"
