"""Listing predicates and changing them by hand."""

from __future__ import annotations

from datetime import datetime

from concord_server.domain.commands import Violations
from concord_server.domain.enums import Cardinality
from concord_server.domain.errors import ConcurrentUpdateError, PredicateNotFoundError
from concord_server.domain.predicate_update import CARDINALITY, PredicateChange, PredicateUpdate, plan_update
from concord_server.domain.predicates import Predicate
from concord_server.domain.queries import Cursor, Page
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.ledger import Ledger, WriteSession
from concord_server.services import idempotency as repeats
from concord_server.services.change_cardinality import CardinalityChange, hold_predicates
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.statuses import check_etag

MAX_ATTEMPTS = 10
"""How often a change is tried when predicates come into use elsewhere meanwhile."""


class ListPredicates:
    """Lists a project's predicates by name."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(
        self, context: CallContext, only_suggested: bool, after: Cursor | None, size: int
    ) -> Page[Predicate]:
        """Returns a page of the predicates, of those with suggestions alone where that is asked for."""
        async with self._ledger.read(context.project) as session:
            return await session.predicates.list(only_suggested=only_suggested, after=after, size=size)


class UpdatePredicate:
    """Changes cardinality, aliases and suggestions of a predicate."""

    def __init__(self, ledger: Ledger, clock: Clock, ids: Ids) -> None:
        self._ledger = ledger
        self._clock = clock
        self._ids = ids

    async def execute(
        self,
        context: CallContext,
        update: PredicateUpdate,
        etag: str = "",
        idempotency: Idempotency[Predicate] | None = None,
    ) -> Predicate | Replay:
        """Returns the predicate as it is afterwards.

        With the cardinality, the slots of the predicate and of its aliases change in the same transaction: where
        several values hold and only one may from now on, the others become challengers in a conflict; where several
        may, every value gets a slot of its own, and what was superseded stays so.

        Raises:
            InvalidFieldsError: a field is bad, by itself or beside what is stored.
            PredicateNotFoundError: no claim uses it.
            EtagMismatchError: the predicate changed since the caller read it.
            ConcurrentUpdateError: others kept using it for the first time in other places.
        """
        found = Violations()
        update.validate(found)
        found.raise_if_any()
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        update = update.normalised()
        for _ in range(MAX_ATTEMPTS):
            try:
                return await self._attempt(context, update, etag, idempotency)
            except ConcurrentUpdateError:
                continue
        raise ConcurrentUpdateError("others kept changing what uses the predicate; send the call again")

    async def _attempt(
        self,
        context: CallContext,
        update: PredicateUpdate,
        etag: str,
        idempotency: Idempotency[Predicate] | None,
    ) -> Predicate | Replay:
        now = self._clock.now()
        async with self._ledger.write(context.project) as session:
            repeated = await repeats.claim(session, idempotency, now)
            if repeated is not None:
                return repeated
            names = {*await session.predicates.family(update.predicate), *update.aliases}
            if CARDINALITY in update.mask:
                partitions = await hold_predicates(session, names, now)
            else:
                partitions = {}
                await session.predicates.hold(names)
            change = await _planned(session, update, etag)
            await self._apply(session, update.predicate, change, now)
            if change.cardinality is not None:
                reason = f"predicate {update.predicate} is {change.cardinality.value} now"
                work = CardinalityChange(session, partitions, self._ids, context.actor, reason, now)
                family = await session.predicates.family(update.predicate)
                await work.apply(family, change.cardinality)
                await session.predicates.set_cardinality(family, change.cardinality, now)
            changed = await session.predicates.get(update.predicate)
            assert changed is not None, "it is held"
            await repeats.complete(session, idempotency, changed, [])
            return changed

    async def _apply(self, session: WriteSession, predicate: str, change: PredicateChange, now: datetime) -> None:
        for alias in change.remove:
            await session.predicates.remove_alias(alias)
        for name in change.drop:
            await session.predicates.drop(predicate, name, now)
        for alias in change.add:
            await session.predicates.add_alias(alias, predicate, now, learned=False)
        if change != PredicateChange():
            await session.predicates.touch(predicate, now)


async def _planned(session: WriteSession, update: PredicateUpdate, etag: str) -> PredicateChange:
    """Returns what the update comes to.

    Raises:
        PredicateNotFoundError: no claim uses the predicate.
        EtagMismatchError: it changed since the caller read it.
        InvalidFieldsError: what is stored does not allow the update.
    """
    known = await session.predicates.get(update.predicate)
    if known is None:
        raise PredicateNotFoundError(update.predicate)
    check_etag(etag, known.etag)
    aliases = await session.predicates.aliases_of([update.predicate, *update.aliases])
    cardinalities: dict[str, Cardinality] = {}
    for name in update.aliases:
        cardinality = await session.slots.cardinality(name)
        if cardinality is not None:
            cardinalities[name] = cardinality
    found = Violations()
    change = plan_update(known, update, aliases, cardinalities, found)
    found.raise_if_any()
    return change
