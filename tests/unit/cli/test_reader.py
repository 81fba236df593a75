from __future__ import annotations

import io

from concord_server.cli.statements.reader import MAX_LINE_BYTES, Line, read_lines


def lines_of(content: bytes) -> list[Line]:
    return list(read_lines(io.BytesIO(content)))


def test_lines_are_numbered_with_the_blank_ones_counted():
    assert lines_of(b"one\n\n  \nfour\n") == [Line(1, 4, "one"), Line(4, 13, "four")]


def test_the_last_line_needs_no_line_feed():
    assert [line.content for line in lines_of(b"one\ntwo")] == ["one", "two"]


def test_carriage_returns_and_a_byte_order_mark_are_not_part_of_a_line():
    assert [line.content for line in lines_of(b"\xef\xbb\xbfone\r\ntwo\r\n")] == ["one", "two"]


def test_unicode_line_separators_do_not_end_a_line():
    assert [line.content for line in lines_of("a\u2028b\x0bc\n".encode())] == ["a\u2028b\x0bc"]


def test_bytes_that_are_not_utf8_spoil_their_line_alone():
    bad, good = lines_of(b"caf\xe9\ncaf\xc3\xa9\n")
    assert bad.problem == "is not UTF-8: invalid continuation byte at byte 4"
    assert good == Line(2, 11, "café")


def test_a_line_that_is_too_long_is_skipped_to_its_end():
    long, short = lines_of(b"x" * (3 * MAX_LINE_BYTES) + b"\nshort\n")
    assert long == Line(1, 3 * MAX_LINE_BYTES + 1, problem=f"is longer than {MAX_LINE_BYTES} bytes")
    assert short.content == "short"
    assert short.number == 2


def test_the_longest_line_is_read():
    [line] = lines_of(b"x" * MAX_LINE_BYTES + b"\n")
    assert len(line.content) == MAX_LINE_BYTES


def test_a_file_without_lines_has_none():
    assert lines_of(b"") == []
    assert lines_of(b"\n \n") == []
