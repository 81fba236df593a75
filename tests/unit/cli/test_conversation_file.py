"""Files that are read for facts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from concord import EntityRef
from concord_server.cli.conversation_file import new_events, read_conversation
from concord_server.cli.events_file import EventFileError
from concord_server.domain.events import EventMessage

KIM = EntityRef("Person", "kim")


def test_turns_are_one_event_at_the_time_of_the_last():
    lines = [
        '{"role": "user", "name": "Kim", "text": "hi", "time": "2024-05-31T09:00:00Z"}\n',
        "\n",
        '{"role": "assistant", "content": "hello", "time": "2024-05-31T11:01:00+02:00"}\n',
        '{"speaker": "Kim", "text": "bye"}\n',
    ]
    [event] = new_events(read_conversation(lines, KIM))
    assert (event.subject.entity_type, event.subject.entity_id, event.kind) == ("Person", "kim", "conversation")
    assert event.occur_time == datetime(2024, 5, 31, 9, 1, tzinfo=UTC)
    assert [(m.role, m.text, m.name) for m in event.messages] == [
        ("user", "hi", "Kim"),
        ("assistant", "hello", ""),
        ("user", "bye", "Kim"),
    ]
    assert isinstance(event.messages[0], EventMessage)


def test_events_are_read_as_they_are():
    line = (
        '{"subject": {"entity_type": "User", "entity_id": "u1"}, "kind": "note", "text": "hi", "payload": {"n": 1},'
        ' "domain": "d", "access_scope": "s", "tags": ["t"], "occur_time": "2024-05-31T09:00:00Z"}'
    )
    [event] = new_events(read_conversation([line], None))
    assert (event.text, event.kind, event.payload, event.tags) == ("hi", "note", {"n": 1}, ("t",))
    assert (event.domain, event.access_scope) == ("d", "s")


def test_an_empty_file_has_no_events():
    assert read_conversation(["\n", "  \n"], None) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1 is no JSON"),
        ("[]", "line 1 is no JSON object"),
        ('{"role": "user"}', "line 1 is no turn"),
        ('{"text": 3}', "line 1 is no turn"),
        ('{"text": "a", "role": 3}', "line 1 is no turn"),
        ('{"text": "a", "time": "noon"}', "line 1 is no turn"),
        ('{"text": "a", "time": 3}', "line 1 is no turn"),
        ('{"subject": {"entity_type": "User"}}', "line 1 is no event"),
    ],
)
def test_a_line_that_is_neither_is_named(line: str, problem: str):
    with pytest.raises(EventFileError, match=problem):
        read_conversation([line], KIM)


def test_turns_need_a_subject():
    with pytest.raises(EventFileError, match="--subject"):
        read_conversation(['{"text": "a"}'], None)
