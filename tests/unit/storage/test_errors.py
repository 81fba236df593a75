"""Failures of the database, as what they mean to callers."""

from __future__ import annotations

import psycopg
import pytest
from concord_server.domain.errors import ConcurrentUpdateError, UnavailableError
from concord_server.storage.errors import (
    ConstraintViolatedError,
    DatabaseNotReadyError,
    LostRaceError,
    translate,
    translated_errors,
)
from psycopg import errors as driver
from sqlalchemy import exc


def wrapped(error: psycopg.Error, *, lost: bool = False) -> exc.DBAPIError:
    """Returns the error as it comes out of a statement."""
    return exc.DBAPIError("SELECT secret", {}, error, connection_invalidated=lost)


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (driver.SerializationFailure(), ConcurrentUpdateError),
        (driver.DeadlockDetected(), ConcurrentUpdateError),
        (driver.LockNotAvailable(), ConcurrentUpdateError),
        (driver.UniqueViolation(), LostRaceError),
        (driver.ForeignKeyViolation(), ConstraintViolatedError),
        (driver.CheckViolation(), ConstraintViolatedError),
        (driver.NotNullViolation(), ConstraintViolatedError),
        (driver.AdminShutdown(), UnavailableError),
        (driver.CrashShutdown(), UnavailableError),
        (driver.CannotConnectNow(), UnavailableError),
        (driver.ConnectionFailure(), UnavailableError),
        (driver.TooManyConnections(), UnavailableError),
        (driver.DiskFull(), UnavailableError),
        (driver.InvalidPassword(), UnavailableError),
        (driver.InvalidCatalogName(), UnavailableError),
        (driver.ReadOnlySqlTransaction(), UnavailableError),
        (driver.QueryCanceled(), UnavailableError),
        (driver.IdleInTransactionSessionTimeout(), UnavailableError),
        (driver.IoError(), UnavailableError),
        (psycopg.OperationalError("connection refused"), UnavailableError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else type(value).__name__,
)
def test_a_failure_is_an_error_of_the_domain(error: psycopg.Error, meaning: type[Exception]) -> None:
    assert type(translate(error)) is meaning
    assert type(translate(wrapped(error))) is meaning


def test_a_lost_connection_is_unavailable_whatever_was_being_done() -> None:
    error = psycopg.InterfaceError("the connection is closed")
    assert isinstance(translate(wrapped(error, lost=True)), UnavailableError)


def test_an_exhausted_pool_is_unavailable() -> None:
    assert isinstance(translate(exc.TimeoutError()), UnavailableError)


def test_a_refused_socket_is_unavailable() -> None:
    assert isinstance(translate(ConnectionRefusedError()), UnavailableError)


@pytest.mark.parametrize(
    "error",
    [wrapped(driver.UndefinedColumn()), driver.SyntaxError(), exc.InvalidRequestError(), psycopg.DataError()],
    ids=lambda error: type(error).__name__,
)
def test_a_defect_stays_what_it_is(error: Exception) -> None:
    assert translate(error) is error
    with pytest.raises(type(error)) as caught, translated_errors():
        raise error
    assert caught.value is error


def test_other_errors_pass_through() -> None:
    with pytest.raises(KeyError), translated_errors():
        raise KeyError("mine")


def test_the_cause_is_kept_and_its_statement_is_not_shown() -> None:
    with pytest.raises(ConcurrentUpdateError) as caught, translated_errors():
        raise wrapped(driver.DeadlockDetected())
    assert isinstance(caught.value.__cause__, exc.DBAPIError)
    assert "secret" not in str(caught.value)


def test_a_database_that_is_not_ready_says_what_to_do() -> None:
    error = DatabaseNotReadyError("the schema is old", "run `concord migrate`")
    assert str(error) == "the schema is old; run `concord migrate`"
    assert error.hint == "run `concord migrate`"
