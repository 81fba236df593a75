"""A call as a value: what to send where, and how to read the answer.

The synchronous and the asyncio client both execute these; building and reading them does no I/O. Every call may
be sent twice without harm: it is a read, or it carries a request id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message

from concord._requests import new_request_id

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Call(Generic[R_co]):
    """One call.

    Attributes:
        path: of the RPC, such as "/concord.v1.BriefingService/GetFact".
        request: what to send; for a stream of requests, an example of its type.
        response_type: message class of the answer.
        parse: makes the result of the answer.
        timeout: seconds for all attempts together; None means the client's default plus ``extra_time``.
        extra_time: seconds on top of the client's default.
    """

    path: str
    request: Message
    response_type: type[Message]
    parse: Callable[[Any], R_co]
    timeout: float | None = None
    extra_time: float = 0.0

    def page(self, token: str) -> Call[R_co]:
        """Returns the same call for the page that ``token`` names."""
        request: Any = type(self.request)()
        request.CopyFrom(self.request)
        request.page_token = token
        return replace(self, request=request)


@dataclass(frozen=True, slots=True)
class Rpc(Generic[Request, Response]):
    """An RPC of the contract. ``write`` says whether its requests carry a request id."""

    path: str
    request_type: type[Request]
    response_type: type[Response]
    write: bool

    @classmethod
    def of(
        cls, service: ServiceDescriptor, request_type: type[Request], response_type: type[Response]
    ) -> Rpc[Request, Response]:
        """Describes the RPC of ``service`` that takes and gives these messages."""
        name = request_type.DESCRIPTOR.name.removesuffix("Request")
        write = "request_id" in request_type.DESCRIPTOR.fields_by_name
        return cls(f"/{service.full_name}/{name}", request_type, response_type, write)

    def call(
        self,
        request: Request,
        parse: Callable[[Response], R_co],
        *,
        timeout: float | None = None,
        extra_time: float = 0.0,
    ) -> Call[R_co]:
        """Makes a call; a write without a request id is given one."""
        if self.write:
            ensure_request_id(request)
        return Call(
            path=self.path,
            request=request,
            response_type=self.response_type,
            parse=parse,
            timeout=timeout,
            extra_time=extra_time,
        )


def ensure_request_id(request: Any) -> None:  # noqa: ANN401 - any message with a request_id
    """Gives a write an id under which it can be repeated, unless it has one or is a dry run."""
    if not request.request_id and not getattr(request, "validate_only", False):
        request.request_id = new_request_id()
