"""What the database's failures mean to callers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import exc

from concord_server.domain.errors import ConcurrentUpdateError, UnavailableError


class DatabaseNotReadyError(Exception):
    """The database cannot be used as it is.

    Attributes:
        hint: what to do about it.
    """

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(f"{problem}; {hint}")
        self.problem = problem
        self.hint = hint


class LostRaceError(ConcurrentUpdateError):
    """Another transaction wrote first what a unique index allows once.

    Attributes:
        constraint: name of the index.
    """

    def __init__(self, constraint: str) -> None:
        super().__init__(f"another writer was first ({constraint})")
        self.constraint = constraint


class ConstraintViolatedError(Exception):
    """A write broke a rule that the database guards: a defect of the caller, never a race.

    Attributes:
        constraint: name of the constraint, empty when it has none.
    """

    def __init__(self, constraint: str, message: str) -> None:
        super().__init__(f"{constraint or 'constraint'}: {message}")
        self.constraint = constraint


_LOST = {
    "40001": "it could not be serialised",
    "40P01": "it was the victim of a deadlock",
    "55P03": "a lock was held for too long",
}
_NOT_AVAILABLE = {
    "25006": "the database takes no writes",
    "25P03": "the transaction was idle for too long",
    "57014": "the database did not answer in time",
    "57P01": "the database shuts down",
    "57P02": "the database crashed",
    "57P03": "the database is starting up",
    "57P05": "the connection was idle for too long",
}
_UNAVAILABLE_CLASSES = {
    "08": "the connection to the database was lost",
    "28": "the database refuses the credentials",
    "3D": "the database does not exist",
    "53": "the database is out of resources",
    "58": "the database's machine failed",
}
_UNIQUE_VIOLATION = "23505"
_INTEGRITY_CLASS = "23"


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turns failures of the database inside its block into errors of the domain.

    Raises:
        UnavailableError: the database cannot be reached or cannot work now.
        ConcurrentUpdateError: the transaction lost to another.
        ConstraintViolatedError: a write broke a rule.
    """
    try:
        yield
    except (exc.SQLAlchemyError, psycopg.Error, OSError) as error:
        raised = translate(error)
        if raised is error:
            raise
        if isinstance(raised, LostRaceError | ConstraintViolatedError):
            raise raised from None  # the cause quotes the row, and words of facts must not get into logs
        raise raised from error


def translate(error: Exception) -> Exception:
    """Returns the error that stands for ``error``; itself when it means nothing but a defect."""
    if isinstance(error, exc.TimeoutError):
        return UnavailableError("every connection to the database is in use")
    if isinstance(error, OSError):
        return UnavailableError("the database cannot be reached")
    driver_error = error.orig if isinstance(error, exc.DBAPIError) else error
    if isinstance(driver_error, psycopg.Error):
        known = _by_code(driver_error)
        if known is not None:
            return known
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return UnavailableError("the connection to the database was lost")
    if isinstance(driver_error, psycopg.OperationalError) and driver_error.sqlstate is None:
        return UnavailableError("the database cannot be reached")  # the driver itself failed to connect or read
    return error


def _by_code(error: psycopg.Error) -> Exception | None:
    code = error.sqlstate or ""
    if code in _LOST:
        return ConcurrentUpdateError(_LOST[code])
    if code in _NOT_AVAILABLE:
        return UnavailableError(_NOT_AVAILABLE[code])
    if code[:2] in _UNAVAILABLE_CLASSES:
        return UnavailableError(_UNAVAILABLE_CLASSES[code[:2]])
    constraint = error.diag.constraint_name or ""
    if code == _UNIQUE_VIOLATION:
        return LostRaceError(constraint)
    if code[:2] == _INTEGRITY_CLASS:
        return ConstraintViolatedError(constraint, error.diag.message_primary or "")
    return None
