"""How the client connects. The server's settings have to agree with these."""

from __future__ import annotations

from typing import Any

import grpc

from concord.inputs import Tls

__version__ = "0.1.0"
"""Version of this library."""

DEFAULT_TARGET = "127.0.0.1:50051"
"""Where ``concord serve`` listens by default."""

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Largest message, either way."""

KEEPALIVE_TIME_MS = 30_000
"""Silence after which the client pings. The server must allow pings this often, also without calls."""

KEEPALIVE_TIMEOUT_MS = 10_000
"""How long a ping may go unanswered before the connection counts as dead."""

INITIAL_RECONNECT_BACKOFF_MS = 100
"""Pause before the first reconnection. gRPC's own is a second, during which all retries of a call would
fail."""

MAX_RECONNECT_BACKOFF_MS = 5_000
"""Longest pause between reconnections; gRPC's own is two minutes."""

PROJECT_KEY = "x-concord-project"
"""Metadata key of the project, read by servers with authentication off."""

AUTHORIZATION_KEY = "authorization"
"""Metadata key of the credential."""


def channel_options() -> list[tuple[str, Any]]:
    """Returns the options of a channel to the service."""
    return [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", KEEPALIVE_TIME_MS),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", INITIAL_RECONNECT_BACKOFF_MS),
        ("grpc.max_reconnect_backoff_ms", MAX_RECONNECT_BACKOFF_MS),
        # Retries are the client's own: it knows which calls may be repeated, and has one budget for all.
        ("grpc.enable_retries", 0),
        ("grpc.primary_user_agent", f"concord-client/{__version__}"),
    ]


def call_metadata(project: str, api_key: str) -> tuple[tuple[str, str], ...]:
    """Returns the metadata of every call; empty arguments add nothing."""
    pairs = []
    if project:
        pairs.append((PROJECT_KEY, project))
    if api_key:
        pairs.append((AUTHORIZATION_KEY, f"Bearer {api_key}"))
    return tuple(pairs)


def credentials(tls: Tls | bool) -> grpc.ChannelCredentials | None:
    """Returns the credentials of a channel, None for one without TLS."""
    if tls is False:
        return None
    settings = Tls() if tls is True else tls
    return grpc.ssl_channel_credentials(
        settings.root_certificates, settings.private_key, settings.certificate_chain
    )


def tls_options(tls: Tls | bool) -> list[tuple[str, Any]]:
    """Returns the options that a name of the server other than its host needs."""
    if isinstance(tls, Tls) and tls.server_name:
        return [("grpc.ssl_target_name_override", tls.server_name)]
    return []
