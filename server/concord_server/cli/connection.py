"""The connection to the service, and what its failures mean for a command."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import grpc
from concord import Client, ConcordError, EntityRef, channel_options
from grpc_health.v1 import health_pb2, health_pb2_grpc

from concord_server.cli.failures import CommandError, ExitCode, report
from concord_server.cli.statements.fields import entity_from_text

_CODES = {
    grpc.StatusCode.UNAVAILABLE: ExitCode.UNREACHABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED: ExitCode.UNREACHABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ExitCode.UNREACHABLE,
    grpc.StatusCode.INVALID_ARGUMENT: ExitCode.INVALID,
    grpc.StatusCode.OUT_OF_RANGE: ExitCode.INVALID,
    grpc.StatusCode.NOT_FOUND: ExitCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION: ExitCode.STATE,
    grpc.StatusCode.ABORTED: ExitCode.STATE,
    grpc.StatusCode.ALREADY_EXISTS: ExitCode.STATE,
    grpc.StatusCode.UNAUTHENTICATED: ExitCode.DENIED,
    grpc.StatusCode.PERMISSION_DENIED: ExitCode.DENIED,
}
_HINTS = {
    grpc.StatusCode.DEADLINE_EXCEEDED: "it may still have been done: look before you repeat it",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "try again later",
    grpc.StatusCode.ABORTED: "read it again and decide anew",
    grpc.StatusCode.UNAUTHENTICATED: "give a key with CONCORD_API_KEY",
    grpc.StatusCode.UNIMPLEMENTED: "the service is older than this command, or is not Concord",
}
_UNREACHABLE_HINT = "start it with: concord serve, or name another with --target"
_NO_CONNECTION = "failed to connect to all addresses"


@contextlib.contextmanager
def connected(target: str, project: str, api_key: str) -> Iterator[Client]:
    """Yields a client, and turns failures of its calls into those of a command.

    Raises:
        CommandError: a call failed.
    """
    with Client(target, project=project, api_key=api_key) as client:
        try:
            yield client
        except ConcordError as error:
            raise command_error(error, target) from error


def require_service(target: str, *, seconds: float = 5.0) -> None:
    """Returns once a service answers, also one that is starting: for calls that would wait for it without a word.

    Raises:
        CommandError: nothing answers.
    """
    if next(_healths(target, seconds), None) is None:
        raise CommandError(f"cannot reach {target}", hint=_UNREACHABLE_HINT, code=ExitCode.UNREACHABLE)


def wait_while_starting(target: str, *, seconds: float = 60.0) -> None:
    """Returns once a service that is starting is ready; at once when it is not there, or does not tell its health.

    A stream that is begun too early would be answered with a failure for each of its items.
    """
    waited = False
    for status in _healths(target, seconds):
        if status != health_pb2.HealthCheckResponse.NOT_SERVING:
            return
        if not waited:
            report("the service is starting")
            waited = True


def wait_until_serving(target: str, *, seconds: float = 120.0) -> None:
    """Returns once a service that listens already is ready to serve.

    Raises:
        CommandError: it ended, or was not ready in time.
    """
    for status in _healths(target, seconds):
        if status == health_pb2.HealthCheckResponse.SERVING:
            return
        if status is None:
            raise CommandError("the service ended before it was ready", code=ExitCode.START)
    raise CommandError(f"the service was not ready within {seconds:g} seconds", code=ExitCode.START)


def _healths(target: str, seconds: float) -> Iterator[int | None]:
    """Yields what a service says about its health for so many seconds, None where it says nothing."""
    deadline = time.monotonic() + seconds
    with grpc.insecure_channel(target, options=channel_options()) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)  # its methods are made at run time
        while (remaining := deadline - time.monotonic()) > 0:
            try:
                yield health.Check(health_pb2.HealthCheckRequest(), timeout=remaining).status
            except grpc.RpcError:
                yield None
            time.sleep(0.05)


def command_error(error: ConcordError, target: str) -> CommandError:
    """Returns what a failed call means for the command that made it."""
    code = _CODES.get(error.code, ExitCode.UNEXPECTED)
    if error.code is grpc.StatusCode.UNAVAILABLE:
        message = f"cannot reach {target}: {reason(error)}"
        return CommandError(message, hint=_UNREACHABLE_HINT, code=code)
    return CommandError(reason(error), hint=_HINTS.get(error.code, ""), code=code)


def reason(error: ConcordError) -> str:
    """Returns why a call failed, in the service's words: the bad fields where it names them."""
    if error.field_violations:
        return "; ".join(f"{violation.field} {violation.description}" for violation in error.field_violations)
    if error.message.startswith(_NO_CONNECTION):
        # gRPC tells the whole way to the cause, which comes last.
        return error.message.rpartition(": ")[2].lower()
    return error.message or error.code.name


def entity_option(option: str, value: str) -> EntityRef | None:
    """Reads the ``TYPE:ID`` of an option, None where it was not given.

    Raises:
        CommandError: it is something else.
    """
    if not value:
        return None
    ref = entity_from_text(value)
    if ref is None:
        raise CommandError(f"{option} {value!r} is not TYPE:ID", hint="such as Person:alice", code=ExitCode.USAGE)
    return ref
