"""Who calls: the only place where a call's context is made."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Protocol

from concord_server.domain.commands import Violations
from concord_server.domain.text import label_problem
from concord_server.services.context import CallContext

PROJECT_KEY = "x-concord-project"
DEFAULT_PROJECT = "default"
MAX_PROJECT = 128

CallMetadata = Iterable[tuple[str, str | bytes]]
"""The metadata of a call; keys in lower case, the same one possibly more than once."""

_current: ContextVar[CallContext] = ContextVar("concord_call")


class Authenticator(Protocol):
    """Tells from a call's metadata who calls."""

    async def authenticate(self, metadata: CallMetadata) -> CallContext:
        """Returns the caller.

        Raises:
            ConcordError: the caller may not call, or does not say properly who it is.
        """


class OpenAuthenticator:
    """Takes every caller at its word: for a service that only its own machine or network reaches."""

    async def authenticate(self, metadata: CallMetadata) -> CallContext:
        """Returns the caller, in the project that the metadata names, else in ``default``.

        Raises:
            InvalidFieldsError: the project's name is malformed, or given more than once.
        """
        names = [value for key, value in metadata if key == PROJECT_KEY]
        found = Violations()
        if len(names) > 1:
            found.add(PROJECT_KEY, "must be given once")
        project = names[0] if names else DEFAULT_PROJECT
        if isinstance(project, bytes):
            project = project.decode("utf-8", errors="replace")
        found.add(PROJECT_KEY, project_problem(project))
        found.raise_if_any()
        return CallContext(project=project)


def project_problem(project: str) -> str | None:
    """Returns what is wrong with a project's name: 1 to 128 printable characters, no blanks around; or None."""
    if not project:
        return "must not be empty"
    if project != project.strip() or not project.isprintable():
        return "must be printable, without blanks around it"
    return label_problem(project, max_length=MAX_PROJECT)


def enter_call(caller: CallContext) -> None:
    """Makes ``caller`` the one of the running task; every call runs in a task of its own."""
    _current.set(caller)


def current_call() -> CallContext:
    """Returns the caller of the call that runs.

    Raises:
        LookupError: no call runs; the servicer was called around the interceptor.
    """
    return _current.get()
