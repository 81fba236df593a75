from __future__ import annotations

import pytest
from concord_server.domain.markdown import clipped, escaped
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

PLAIN = MarkdownIt("commonmark")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a *b* _c_", "a \\*b\\* \\_c\\_"),
        ("max_tokens is 5", "max_tokens is 5"),
        ("[x](http://y)", "\\[x\\](http://y)"),
        ("![x](y)", "\\!\\[x\\](y)"),
        ("<b>bold</b>", "\\<b>bold\\</b>"),
        ("`code`", "\\`code\\`"),
        ("# not a heading", "\\# not a heading"),
        ("- not a list", "\\- not a list"),
        ("1. not a list", "1\\. not a list"),
        ("> not a quotation", "\\> not a quotation"),
        ("R&D &amp; co", "R&D \\&amp; co"),
        ("~~gone~~ ~5", "\\~\\~gone\\~\\~ ~5"),
        ("back\\slash", "back\\\\slash"),
        ("two\nlines\tand more", "two lines and more"),
        ("bell\x07 and \u202eturned", "bell and turned"),
        ("Ada's 3.5 kg, 50 % — ok (yes)", "Ada's 3.5 kg, 50 % — ok (yes)"),
        ("", ""),
    ],
)
def test_words_are_not_markup(text, shown):
    assert escaped(text) == shown


@given(st.text(st.sampled_from(list("ab1 .)#*_`[]()<>!&;~-+=\\\"'\n:/|")), min_size=1, max_size=30))
def test_a_text_renders_as_it_reads(text):
    """In a list, where it stands on a page."""
    tokens = PLAIN.parse(f"- {escaped(text)}\n")
    assert {token.type for token in tokens} <= {
        "bullet_list_open", "list_item_open", "paragraph_open", "inline", "paragraph_close", "list_item_close",
        "bullet_list_close",
    }  # fmt: skip
    children = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in children} <= {"text", "text_special"}
    assert "".join(child.content for child in children) == " ".join(text.split())


def test_long_texts_are_cut_with_a_mark():
    assert clipped("abcdef", 6) == "abcdef"
    assert clipped("abcdefg", 6) == "abcde…"
    assert clipped("abcd efg", 6) == "abcd…"
