"""The state of one watch: from where to go on. Pure; the clients do the I/O."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from concord import _parse, _requests
from concord._retry import RetryPolicy, may_help
from concord.enums import FactChange, enum_from_proto
from concord.errors import ConcordError, UnavailableError
from concord.inputs import EntityRef
from concord.results import FactEvent
from concord.v1 import evolution_service_pb2 as pb

DEFAULT_MAX_OUTAGE = 300.0
"""Seconds for which a watch tries to reach the service again: more than a restart takes."""


class StreamEndedError(UnavailableError):
    """The server ended a stream without an error."""


@dataclass(frozen=True, slots=True)
class WatchSpec:
    """What to watch, and for how long to bear an outage."""

    request: pb.WatchFactsRequest
    max_outage: float | None


def watch_facts(
    *,
    after_sequence: int | None = None,
    domain: str = "",
    entity: EntityRef | None = None,
    changes: Sequence[FactChange] = (),
    access_scope: str | None = None,
    max_outage: float | None = DEFAULT_MAX_OUTAGE,
) -> WatchSpec:
    """Yields changes of facts as they commit, in order, none missed and none twice, until the caller stops.

    A broken connection is made again, and the watch goes on after the last change or sign of life. Broken
    before the first of those, a watch from now on starts from the new now: pass ``after_sequence`` where that
    matters.

    Args:
        after_sequence: changes after this one; 0 for all, None for those from now on.
        domain: only facts of this domain; empty for all.
        entity: only facts linked to or owned by it.
        changes: only these changes; empty for all.
        access_scope: only this scope; "" for unscoped facts, None for all that the credential may read.
        max_outage: seconds for which to try to reach the service again; None for ever.

    Raises:
        OutOfRangeError: the change log is no longer kept back to ``after_sequence``.
        UnavailableError: the service could not be reached for ``max_outage``.
    """
    request = pb.WatchFactsRequest(
        after_sequence=after_sequence,
        domain=domain,
        entity=_requests.entity(entity),
        changes=_requests.numbers(changes),
        access_scope=access_scope,
    )
    return WatchSpec(request, max_outage)


class Watch:
    """Follows a watch over broken connections: none missed, none twice.

    Args:
        spec: what to watch.
        policy: pauses between attempts. A watch takes nothing from the budget of retries: it is one call that
            waits.
        clock: monotonic seconds.
        chance: gives numbers in [0, 1].
    """

    def __init__(
        self,
        spec: WatchSpec,
        policy: RetryPolicy,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._request = spec.request
        self._max_outage = spec.max_outage
        self._policy = policy
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._outage_start = 0.0

    def request(self) -> pb.WatchFactsRequest:
        """Returns what to send to go on."""
        request = pb.WatchFactsRequest()
        request.CopyFrom(self._request)
        return request

    def answered(self) -> None:
        """Notes that the service answers."""
        self._failures = 0

    def receive(self, response: pb.WatchFactsResponse) -> FactEvent | None:
        """Notes a message, and returns the change that it tells; None for a heartbeat or a repeated change."""
        self.answered()
        seen = self._request.after_sequence if self._request.HasField("after_sequence") else -1
        self._request.after_sequence = max(seen, response.sequence)
        if response.heartbeat or response.sequence <= seen:
            return None
        return FactEvent(
            sequence=response.sequence,
            change=enum_from_proto(FactChange, response.change),
            fact=_parse.required(response, "fact", _parse.fact),
            time=_parse.time(response, "time"),
        )

    def wait_after(self, error: ConcordError) -> float:
        """Returns the seconds to wait before connecting again.

        Raises:
            ConcordError: ``error`` itself, when connecting again cannot help, or has not helped for too long.
        """
        if not may_help(error):
            raise error
        if self._failures == 0:
            self._outage_start = self._clock()
        self._failures += 1
        delay = max(self._policy.backoff(self._failures, self._chance()), error.retry_delay or 0.0)
        outage = self._clock() + delay - self._outage_start
        if self._max_outage is not None and outage > self._max_outage:
            raise error
        return delay
