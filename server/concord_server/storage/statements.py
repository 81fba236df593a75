"""What the repositories of one session share: the connection, the project and the changes to log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BindParameter, CursorResult, Executable, Row, Text, bindparam
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from concord_server.domain.errors import ConcordError
from concord_server.storage.changes import ChangeBuffer
from concord_server.storage.errors import ConstraintViolatedError, translated_errors

Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]

PROJECT: BindParameter[str] = bindparam("project", type_=Text)
"""The parameter that every query is restricted by.

Statements are made once, when their module is loaded, and take what varies as parameters: making one costs more
than executing it.
"""


class Statements:
    """Executes statements, with failures of the database as errors of the domain."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._failure: Exception | None = None

    async def execute(self, statement: Executable, parameters: Parameters | None = None) -> CursorResult[Any]:
        """Executes a statement; a sequence of parameters executes it once for each."""
        if isinstance(parameters, Sequence) and len(parameters) == 1:
            parameters = parameters[0]  # a sequence takes two round trips more
        try:
            with translated_errors():
                return await self._connection.execute(statement, parameters)
        except (SQLAlchemyError, ConcordError, ConstraintViolatedError) as error:
            self._failure = error
            raise

    async def rows(self, statement: Executable, parameters: Mapping[str, Any] | None = None) -> Sequence[Row[Any]]:
        """Returns every row of a query."""
        return (await self.execute(statement, parameters)).all()

    async def first(self, statement: Executable, parameters: Mapping[str, Any] | None = None) -> Row[Any] | None:
        """Returns the only row of a query, ``None`` when it has none."""
        return (await self.execute(statement, parameters)).one_or_none()

    def raise_failure(self) -> None:
        """Raises what made a statement fail before, even if its caller went on.

        The database has given up such a transaction already, and would answer a commit by rolling back.
        """
        if self._failure is not None:
            raise self._failure

    async def commit(self) -> None:
        """Commits."""
        with translated_errors():
            await self._connection.commit()


@dataclass(frozen=True, slots=True)
class SessionContext:
    """One session: whose ledger it is about, and through what it speaks to the database."""

    project: str
    statements: Statements
    changes: ChangeBuffer = field(default_factory=ChangeBuffer)
