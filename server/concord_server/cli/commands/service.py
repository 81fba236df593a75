"""``concord serve`` and ``concord migrate``: run the service, and prepare its database."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli.failures import CommandError, ExitCode
from concord_server.cli.output import write_line

if TYPE_CHECKING:
    from concord_server.config import Settings

_DATABASE = "Database"
_MODELS = "Models"
_LOGS = "Logs"
_RUNS = "Runs"


class LogLevel(StrEnum):
    """From which severity on things are logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How log lines look; ``auto`` is readable on a terminal and JSON elsewhere."""

    AUTO = "auto"
    JSON = "json"
    CONSOLE = "console"


DataDir = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Where the embedded PostgreSQL keeps its data. [default: var/concord]",
        rich_help_panel=_DATABASE,
    ),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="An external PostgreSQL with pgvector instead.", rich_help_panel=_DATABASE),
]
EmbedderModel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="An exported sentence-transformers model. [default: all-MiniLM-L6-v2]",
        rich_help_panel=_MODELS,
    ),
]


Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Workers that execute runs in each process. [default: 1]", rich_help_panel=_RUNS
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(metavar="N", help="Subjects that a worker works at once. [default: 4]", rich_help_panel=_RUNS),
]
Lease = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="After so long without a sign of life, a worker's events are taken up by another. [default: 15]",
        rich_help_panel=_RUNS,
    ),
]


def serve(
    *,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Address to serve; port 0 takes a free one. [default: 127.0.0.1:50051]"
        ),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(metavar="N", help="Processes that share the address. [default: 1]")
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="How long calls may finish at shutdown. [default: 10]"),
    ] = None,
    workers: Workers = None,
    concurrency: Concurrency = None,
    lease: Lease = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    embedder_model: EmbedderModel = None,
    log_level: Annotated[LogLevel | None, typer.Option(rich_help_panel=_LOGS, help="[default: info]")] = None,
    log_format: Annotated[LogFormat | None, typer.Option(rich_help_panel=_LOGS, help="[default: auto]")] = None,
) -> None:
    """Run the service until Ctrl-C or SIGTERM.

    Prints "listening on HOST:PORT" once the port is bound. Everything can also be set by CONCORD_<NAME> in the
    environment (CONCORD_LISTEN, CONCORD_DATA_DIR, CONCORD_DATABASE_URL, …); a flag wins. A language model is set
    there alone: CONCORD_LLM_MODEL, CONCORD_LLM_BASE_URL and CONCORD_LLM_API_KEY, see docs/model.md.
    """
    given = settings(
        listen=listen,
        processes=processes,
        grace_seconds=grace,
        workers=workers,
        concurrency=concurrency,
        lease_seconds=lease,
        data_dir=data_dir,
        database_url=database_url,
        embedder_model=embedder_model,
        log_level=log_level,
        log_format=log_format,
    )
    from concord_server import bootstrap

    try:
        bootstrap.run_service(given)
    except bootstrap.START_ERRORS as error:
        raise start_failure(error) from error


def work(
    *,
    workers: Workers = None,
    concurrency: Concurrency = None,
    lease: Lease = None,
    database_url: DatabaseUrl = None,
    embedder_model: EmbedderModel = None,
    log_level: Annotated[LogLevel | None, typer.Option(rich_help_panel=_LOGS, help="[default: info]")] = None,
    log_format: Annotated[LogFormat | None, typer.Option(rich_help_panel=_LOGS, help="[default: auto]")] = None,
) -> None:
    """Execute runs beside the service, on this or another machine, until Ctrl-C or SIGTERM.

    Needs the service's external database. Prints "working" once it looks for work. Any number of such processes
    share the runs; what one of them had in hand when it was killed is taken up by another once its lease is over.
    """
    given = settings(
        workers=workers,
        concurrency=concurrency,
        lease_seconds=lease,
        database_url=database_url,
        embedder_model=embedder_model,
        log_level=log_level,
        log_format=log_format,
    )
    from concord_server import bootstrap

    try:
        bootstrap.run_workers(given)
    except bootstrap.START_ERRORS as error:
        raise start_failure(error) from error


def migrate(
    data_dir: DataDir = None, database_url: DatabaseUrl = None, embedder_model: EmbedderModel = None
) -> None:
    """Bring the database's schema up to date.

    The embedded database is migrated whenever the service starts; an external one by this command alone.
    """
    given = settings(data_dir=data_dir, database_url=database_url, embedder_model=embedder_model)
    from concord_server import bootstrap

    try:
        revision = bootstrap.migrate_service(given)
    except bootstrap.START_ERRORS as error:
        raise start_failure(error) from error
    write_line(f"the schema is at revision {revision}")


def settings(**flags: object) -> Settings:
    """Makes settings of the environment and the flags that were given.

    Raises:
        CommandError: a value is wrong.
    """
    from pydantic import ValidationError

    from concord_server.config import Settings

    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        problems = "; ".join(_problem(str(item["loc"][0]), item["msg"], given) for item in error.errors())
        raise CommandError(problems, hint="see concord serve --help", code=ExitCode.USAGE) from error


def _problem(name: str, message: str, flags: dict[str, object]) -> str:
    """Names the flag or the variable that a wrong value came from."""
    flag = "--" + name.removesuffix("_seconds").replace("_", "-")
    text = message.removeprefix("Value error, ")
    return f"{flag if name in flags else f'CONCORD_{name.upper()}'}: {text[:1].lower()}{text[1:]}"


def start_failure(error: Exception) -> CommandError:
    """Returns what a service that cannot start means for a command; the errors say what to do themselves."""
    return CommandError(str(error).replace("\n", " "), code=ExitCode.START)
