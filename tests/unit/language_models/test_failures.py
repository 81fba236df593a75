"""What goes wrong at endpoints, told by the errors of the port."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from concord_server.ports.language_model import (
    ModelDeniedError,
    ModelError,
    ModelFailedError,
    ModelRateLimitedError,
)
from concord_server.providers.language_models.failures import LONGEST_WAIT, QUOTA_WAIT, refused, retry_after

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, timedelta(seconds=7)),
        ({"retry-after": "0.5"}, timedelta(seconds=0.5)),
        ({"retry-after-ms": "1500", "retry-after": "2"}, timedelta(seconds=1.5)),
        ({"retry-after": "-3"}, timedelta(0)),
        ({"retry-after": "1e30"}, LONGEST_WAIT),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Mon, 01 Jun 2026 12:00:30 GMT"}, timedelta(seconds=30)),
        ({"retry-after": "Mon, 01 Jun 2026 11:00:00 GMT"}, timedelta(0)),
        ({"retry-after": "Tue, 01 Jun 2027 12:00:00 GMT"}, LONGEST_WAIT),
        (
            {"retry-after": "Mon, 01 Jun 2026 15:00:30 GMT", "date": "Mon, 01 Jun 2026 15:00:00 GMT"},
            timedelta(seconds=30),
        ),
    ],
)
def test_how_long_an_endpoint_asks_to_wait(headers: dict[str, str], expected: timedelta | None):
    assert retry_after(headers, NOW) == expected


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "invalid_api_key", ModelDeniedError),
        (403, "", ModelDeniedError),
        (404, "model_not_found", ModelDeniedError),
        (402, "", ModelRateLimitedError),
        (429, "rate_limit_exceeded", ModelRateLimitedError),
        (429, "insufficient_quota", ModelRateLimitedError),
        (400, "context_length_exceeded", ModelFailedError),
        (413, "", ModelFailedError),
        (500, "", ModelFailedError),
        (503, "", ModelFailedError),
        (529, "overloaded_error", ModelFailedError),
    ],
)
def test_the_kinds_of_failures(status: int, code: str, kind: type[ModelError]):
    error = refused(status, code, "sk-secret asked about Ana", {"retry-after": "9"}, NOW)
    assert type(error) is kind
    assert "sk-secret" not in str(error)
    assert "Ana" not in str(error)


def test_a_quota_without_a_time_waits_longer_than_a_limit_of_rate():
    quota = refused(429, "insufficient_quota", "", {}, NOW)
    rate = refused(429, "", "slow down", {"retry-after": "3"}, NOW)
    assert isinstance(quota, ModelRateLimitedError)
    assert isinstance(rate, ModelRateLimitedError)
    assert (quota.retry_after, rate.retry_after) == (QUOTA_WAIT, timedelta(seconds=3))
