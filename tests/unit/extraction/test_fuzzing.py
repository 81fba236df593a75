"""Whatever an item of an answer holds, it becomes a candidate that can be stored, or is refused with a reason."""

from __future__ import annotations

import json
from typing import Any

from concord_server.domain.answers import Answer
from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.consolidation import admit
from concord_server.services.extraction.candidates import MAX_REJECTED, Taken
from concord_server.services.extraction.prompt import data_of
from hypothesis import strategies as st

from tests.unit.answers.corpus import fuzz
from tests.unit.extraction.events import event

SAID = event(
    "I moved to Lagos, and I play the cello.", ("assistant", "You love coffee."), payload={"n": [1, None]}
)

_texts = st.text(max_size=20) | st.sampled_from(
    [
        "Lagos",
        "cello",
        "coffee",
        "u1",
        "supersede",
        "MULTI",
        "2024-02-30",
        "2024",
        "NaN",
        "I moved ... cello",
        "\x00",
    ]
)
_numbers = st.integers(-(10**400), 10**400) | st.floats()
_json = st.recursive(
    st.none() | st.booleans() | _numbers | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=8,
)
_names = (
    *("subject", "predicate", "value", "object", "qualifiers", "cardinality", "text", "type", "action", "reason"),
    *(
        "confidence",
        "valid_from",
        "valid_to",
        "volatility",
        "evidence",
        "fact_id",
        "owner",
        "scope",
        "model_config",
    ),
)
_items = st.fixed_dictionaries({}, optional=dict.fromkeys(_names, _json)) | _json
_likely = st.fixed_dictionaries(
    {"predicate": _texts, "value": _json},
    optional={name: _json for name in _names if name not in ("predicate", "value")},
)


@fuzz(st.lists(_items | _likely, max_size=6), st.booleans())
def test_items_of_any_form_are_taken_or_refused(items: list[Any], bare: bool) -> None:
    taken = Taken(SAID, limit=3)
    taken.take(Answer(items if bare else {"facts": items}))
    assert len(taken.candidates) <= 3
    assert len(taken.rejected) <= MAX_REJECTED + 1
    for candidate in taken.candidates:
        command = admit(SAID, candidate)
        assert isinstance(command, ReconcileCommand)
        assert command.owner == SAID.subject
        assert command.claim is not None
        assert command.claim.subject == "u1"
    for refused in taken.rejected:
        assert refused.reason
        assert "\x00" not in refused.text + refused.reason


@fuzz(st.lists(st.text(max_size=60), min_size=1, max_size=4))
def test_of_any_event_the_data_are_lines_of_json(texts: list[str]) -> None:
    told = event(texts[0], *(("user", text) for text in texts[1:]))
    first, *between, last = data_of(told, ()).splitlines()
    assert (first[:5], last[:4]) == ("DATA ", "END ")
    assert first[5:] == last[4:]
    said = [json.loads(line)["said"] for line in between[1:]]
    assert said == [text for number, text in enumerate(texts) if number or text.strip()]
