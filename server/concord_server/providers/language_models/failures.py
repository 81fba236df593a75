"""From what goes wrong at an endpoint to the errors of the port.

Messages are this module's own: what an endpoint says may repeat the key, or what it was asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from concord_server.ports.language_model import (
    ModelDeniedError,
    ModelError,
    ModelFailedError,
    ModelRateLimitedError,
)

LONGEST_WAIT = timedelta(days=1)
"""What an endpoint may ask to wait at most; who asks for more gets this."""

QUOTA_WAIT = timedelta(hours=1)
"""How long to wait for a quota where the endpoint does not say."""

_QUOTA = ("insufficient_quota", "insufficient balance", "quota", "billing", "payment", "credits")


def refused(status: int, code: str, message: str, headers: Mapping[str, str], now: datetime) -> ModelError:
    """Returns the error for an answer that is none.

    Args:
        status: of HTTP.
        code: the endpoint's own word for it, or empty.
        message: what the endpoint says, of which only hints are read.
        headers: of the answer, by name in lower case.
    """
    if status in (402, 429):
        wait = retry_after(headers, now)
        if status == 402 or any(word in f"{code} {message}".lower() for word in _QUOTA):
            return ModelRateLimitedError("the quota at the model's endpoint is used up", wait or QUOTA_WAIT)
        return ModelRateLimitedError("the model's endpoint asks to slow down (429)", wait)
    if status == 401:
        return ModelDeniedError("the model's endpoint refuses the key (401); set CONCORD_LLM_API_KEY")
    if status == 403:
        return ModelDeniedError("the model's endpoint does not allow this key what is asked of it (403)")
    if status == 404:
        return ModelDeniedError(
            "the model's endpoint knows no such model or path (404); set CONCORD_LLM_MODEL and CONCORD_LLM_BASE_URL"
        )
    if status >= 500:
        return ModelFailedError(f"the model's endpoint failed ({status})")
    return ModelFailedError(f"the model's endpoint refused the request ({status})")


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Returns how long an endpoint asks to wait, in [0, LONGEST_WAIT]; ``None`` where it does not say.

    Seconds, milliseconds and HTTP dates are understood; a date is taken by the endpoint's own clock where it tells it.
    """
    for name, unit in (("retry-after-ms", timedelta(milliseconds=1)), ("retry-after", timedelta(seconds=1))):
        with suppress(ValueError):
            number = float(headers.get(name, ""))
            if math.isfinite(number):
                longest = LONGEST_WAIT / unit
                return min(max(number, 0.0), longest) * unit
    until = _http_date(headers.get("retry-after", ""))
    if until is None:
        return None
    return min(max(until - (_http_date(headers.get("date", "")) or now), timedelta(0)), LONGEST_WAIT)


def _http_date(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
