"""The change log: every recorded state of every fact of a project, in commit order."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Insert, Integer, Text, Uuid, bindparam, func, insert, select, true, update
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.domain.enums import FactChange
from concord_server.domain.model import Fact
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.tables import change_log, projects


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the log, before it has its sequence."""

    fact_id: UUID
    change: FactChange
    version: int
    time: datetime
    domain: str


@dataclass(slots=True)
class ChangeBuffer:
    """The entries of one transaction, kept until just before its commit.

    Taking sequences locks the project's row until the transaction ends. So late, that lock is held for no longer
    than a commit takes, and whoever reads sequence n finds every smaller one committed.

    Attributes:
        facts: facts that were there before and changed, as they are now.
        announce: whether those who wait for news of the project are woken although no fact may have changed.
    """

    entries: list[Change] = field(default_factory=list)
    facts: dict[UUID, Fact] = field(default_factory=dict)
    announce: bool = False

    def add(self, fact: Fact, change: FactChange) -> None:
        """Adds the newest version of a fact."""
        entry = Change(fact.fact_id, change, fact.version, fact.update_time, fact.partition.domain)
        self.entries.append(entry)
        if fact.version > 1:
            self.facts[fact.fact_id] = fact

    def parameters(self, project: str) -> dict[str, Any]:
        """Returns the parameters of :data:`APPEND`."""
        return {
            "project": project,
            "count": len(self.entries),
            "fact_ids": [entry.fact_id for entry in self.entries],
            "changes": [entry.change.value for entry in self.entries],
            "versions": [entry.version for entry in self.entries],
            "times": [entry.time for entry in self.entries],
            "domains": [entry.domain for entry in self.entries],
        }


def _append() -> Insert:
    count = bindparam("count", type_=BigInteger)
    taken = (
        update(projects)
        .where(projects.c.project_id == bindparam("project"))
        .values(change_sequence=projects.c.change_sequence + count)
        .returning(projects.c.project_id, (projects.c.change_sequence - count).label("before"))
        .cte("taken")
    )
    entries = func.unnest(
        bindparam("fact_ids", type_=ARRAY(Uuid)),
        bindparam("changes", type_=ARRAY(Text)),
        bindparam("versions", type_=ARRAY(Integer)),
        bindparam("times", type_=ARRAY(TIMESTAMP)),
        bindparam("domains", type_=ARRAY(Text)),
    ).table_valued("fact_id", "change", "version", "time", "domain", with_ordinality="position", name="entries")
    entries = entries.render_derived()
    return insert(change_log).from_select(
        ["project_id", "sequence", "fact_id", "change", "fact_version", "time", "domain"],
        select(
            taken.c.project_id,
            taken.c.before + entries.c.position,
            entries.c.fact_id,
            entries.c.change,
            entries.c.version,
            entries.c.time,
            entries.c.domain,
        ).select_from(taken.join(entries, true())),
    )


APPEND = _append()
"""Gives every entry its sequence and stores them all."""
