"""Arguments of commands that need reading: times and claims."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from concord_server.cli.failures import CommandError, ExitCode

if TYPE_CHECKING:
    from datetime import datetime

    from concord import Claim


def time_option(option: str, text: str) -> datetime | None:
    """Reads the time of an option, None where it was not given.

    Raises:
        CommandError: it is no time.
    """
    from concord_server.cli.statements.times import parse_time

    if not text:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise CommandError(f"{option} {error}", code=ExitCode.USAGE) from error


def claim_option(parts: tuple[str, str, str]) -> Claim | None:
    """Reads subject, predicate and value of a claim, None where none was given; a value that is no JSON is text."""
    from concord import Claim

    subject, predicate, value = parts
    if not any(parts):
        return None
    try:
        return Claim(subject=subject, predicate=predicate, value=json.loads(value))
    except json.JSONDecodeError:
        return Claim(subject=subject, predicate=predicate, value=value)
