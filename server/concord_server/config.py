"""Settings of the service: from the environment, overridden by flags, validated once."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

DEFAULT_LISTEN = "127.0.0.1:50051"


class Settings(BaseSettings):
    """Everything that can be set; each field is read from ``CONCORD_<NAME>`` unless a flag gives it.

    Attributes:
        listen: ``HOST:PORT`` to serve on; port 0 takes a free one.
        data_dir: where the embedded PostgreSQL keeps its data; unused with ``database_url``.
        database_url: an external PostgreSQL (libpq URL or keywords, several hosts allowed); empty starts the
            embedded one.
        processes: how many processes serve the port.
        grace_seconds: how long calls in flight may take to finish at shutdown.
        embedder_model: a sentence-transformers model, by name or path, exported before.
        models_dir: where exported models lie; empty is the user's cache directory.
        embedder_threads: threads that one process computes embeddings with.
        pool_size: database connections that one process holds at most.
        workers: workers that one process executes runs with; 0 leaves runs to other processes.
        concurrency: subjects that one worker works at once.
        lease_seconds: after so long without a sign of life, what a worker had in hand is taken up by another.
        change_log_days: how long changes can be watched afterwards; 0 for ever.
    """

    model_config = SettingsConfigDict(env_prefix="CONCORD_", frozen=True, extra="ignore")

    listen: str = DEFAULT_LISTEN
    data_dir: Path = Path("var/concord")
    database_url: str = ""
    processes: int = Field(default=1, ge=1, le=64)
    grace_seconds: float = Field(default=10.0, ge=0.0, le=600.0)
    embedder_model: str = "all-MiniLM-L6-v2"
    models_dir: Path | None = None
    embedder_threads: int = Field(default=1, ge=1, le=64)
    pool_size: int = Field(default=10, ge=2, le=200)
    workers: int = Field(default=1, ge=0, le=64)
    concurrency: int = Field(default=4, ge=1, le=256)
    lease_seconds: float = Field(default=15.0, ge=0.5, le=3600.0)
    change_log_days: float = Field(default=30.0, ge=0.0, le=36_500.0)
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "json", "console"] = "auto"

    @field_validator("listen")
    @classmethod
    def _host_and_port(cls, value: str) -> str:
        split_listen(value)
        return value


def split_listen(listen: str) -> tuple[str, int]:
    """Returns host and port of ``HOST:PORT`` (``[::1]:PORT`` for IPv6).

    Raises:
        ValueError: it is not of that form, or the port is out of range.
    """
    host, separator, port = listen.rpartition(":")
    if not separator or not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{listen!r} is not HOST:PORT with a port from 0 to 65535")
    return host, int(port)
