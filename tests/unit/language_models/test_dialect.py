"""What is learned of endpoints from their refusals, and what is not."""

from __future__ import annotations

import pytest
from concord_server.providers.language_models.dialect import (
    DOUBTS,
    STRIKES,
    AnswerFormat,
    Dialect,
    Dialects,
    Plainer,
    plainer,
)

SCHEMA, OBJECT, PLAIN = AnswerFormat.JSON_SCHEMA, AnswerFormat.JSON_OBJECT, AnswerFormat.PLAIN
KEY = ("http://somewhere/v1", "m")
ASKED = Dialect(logprobs=False)


@pytest.mark.parametrize(
    ("status", "message", "asked", "expected"),
    [
        (
            400,
            "Invalid parameter: response_format of type json_schema",
            ASKED,
            Plainer(Dialect(OBJECT, False), True),
        ),
        (400, "response_format.type must be text", Dialect(OBJECT, False), Plainer(Dialect(PLAIN, False), True)),
        (500, "failed to parse grammar", ASKED, Plainer(Dialect(OBJECT, False), True)),
        (500, "", ASKED, Plainer(Dialect(OBJECT, False), False)),
        (500, "", Dialect(PLAIN, False), None),
        (400, "logprobs is not supported with this model", Dialect(), Plainer(Dialect(SCHEMA, False), True)),
        (500, "", Dialect(), Plainer(Dialect(SCHEMA, False), False)),
        (400, "'temperature' does not support 0", ASKED, Plainer(Dialect(SCHEMA, False, False), True)),
        (
            400,
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            ASKED,
            Plainer(Dialect(SCHEMA, False, True, True), True),
        ),
        (400, "This model's maximum context length is 8192 tokens", ASKED, None),
        (400, "The response was filtered due to our content management policy", ASKED, None),
        *((status, "response_format", ASKED, None) for status in (401, 403, 404, 408, 429, 502, 503, 504, 529)),
    ],
)
def test_a_refusal_leads_to_a_plainer_dialect(status: int, message: str, asked: Dialect, expected: Plainer | None):
    assert plainer(asked, status, message) == expected


def test_every_way_of_refusing_ends():
    """Whatever is refused, in whatever words, plainer and plainer dialects come to an end."""
    for message in ("", "logprobs", "temperature", "max_completion_tokens", "json_schema"):
        dialect, steps = Dialect(), 0
        while (following := plainer(dialect, 400, message)) is not None:
            dialect, steps = following.dialect, steps + 1
        assert steps <= 4


class TestLearning:
    def test_an_explicit_refusal_is_learned_at_once(self):
        known = Dialects()
        known.answered(KEY, ASKED, Dialect(OBJECT, False), explicit=True)
        assert known.of(KEY, logprobs=False).format is OBJECT
        assert known.of(("elsewhere", "m"), logprobs=False).format is SCHEMA
        assert known.of((KEY[0], "other"), logprobs=False).format is SCHEMA

    def test_what_may_be_an_outage_is_learned_when_it_happens_again(self):
        known = Dialects()
        for _ in range(DOUBTS):
            assert known.of(KEY, logprobs=False).format is SCHEMA
            known.answered(KEY, ASKED, Dialect(OBJECT, False), explicit=False)
        assert known.of(KEY, logprobs=False).format is OBJECT

    def test_a_hiccup_at_first_use_teaches_nothing(self):
        known = Dialects()
        known.answered(KEY, ASKED, Dialect(OBJECT, False), explicit=False)
        known.answered(KEY, ASKED, ASKED, explicit=True)
        known.answered(KEY, ASKED, Dialect(OBJECT, False), explicit=False)
        assert known.of(KEY, logprobs=False).format is SCHEMA

    def test_what_answered_before_is_not_unlearned_by_hiccups(self):
        known = Dialects()
        known.answered(KEY, ASKED, ASKED, explicit=True)
        silent = plainer(ASKED, 500, "")
        assert silent is not None
        for _ in range(3):
            for _ in range(STRIKES - 1):
                assert not known.may_change(KEY, ASKED, silent)
            known.answered(KEY, ASKED, ASKED, explicit=True)
        assert known.of(KEY, logprobs=False) == ASKED

    def test_an_endpoint_that_changed_is_learned_anew(self):
        known = Dialects()
        known.answered(KEY, ASKED, ASKED, explicit=True)
        silent, explicit = plainer(ASKED, 500, ""), plainer(ASKED, 400, "json_schema is gone")
        assert silent is not None
        assert explicit is not None
        assert known.may_change(KEY, ASKED, explicit)
        for _ in range(STRIKES):
            assert not known.may_change(KEY, ASKED, silent)
        assert known.may_change(KEY, ASKED, silent)

    def test_what_is_known_of_logprobs_says_nothing_of_the_format(self):
        known = Dialects()
        known.answered(KEY, Dialect(), Dialect(logprobs=False), explicit=True)
        assert known.of(KEY, logprobs=True) == Dialect(logprobs=False)

    def test_in_an_outage_one_plain_call_tells_whether_it_is_over(self):
        known = Dialects()
        known.failed(KEY)
        assert known.of(KEY, logprobs=True) == Dialect(PLAIN, logprobs=False)
        known.answered(KEY, Dialect(PLAIN, False), Dialect(PLAIN, False), explicit=True)
        assert known.of(KEY, logprobs=True) == Dialect()
