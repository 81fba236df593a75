"""How commands fail: one line with a hint on standard error, and an exit code for each kind of failure."""

from __future__ import annotations

import sys
from enum import IntEnum

from concord_server.cli.output import printable


class ExitCode(IntEnum):
    """Exit codes of ``concord``; they are part of its interface (docs/tutorial.md lists them)."""

    OK = 0
    UNEXPECTED = 1
    """A fault of the service or of this program."""
    USAGE = 2
    """The command line itself is wrong."""
    UNREACHABLE = 3
    """The service cannot be reached, is starting, is overloaded or did not answer in time: try again."""
    INVALID = 4
    """The service, or this program on its behalf, refused the input."""
    NOT_FOUND = 5
    """There is no such fact, conflict, decision, event or run."""
    STATE = 6
    """The state of the resource does not allow it, or somebody else's change came first."""
    PARTIAL = 7
    """Some of the lines could not be reconciled; the others were."""
    DENIED = 8
    """The credential is missing, unknown or not allowed to do this."""
    START = 9
    """The service could not start."""
    INTERRUPTED = 130
    """Ctrl-C."""


class CommandError(Exception):
    """Ends a command.

    Attributes:
        message: what went wrong.
        hint: what to do about it, empty where there is nothing to say.
        code: the exit code.
    """

    def __init__(self, message: str, *, hint: str = "", code: ExitCode = ExitCode.UNEXPECTED) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code


def report(message: str, hint: str = "") -> None:
    """Writes one line to standard error."""
    text = f"concord: {message}" + (f" ({hint})" if hint else "")
    print(printable(text), file=sys.stderr, flush=True)
