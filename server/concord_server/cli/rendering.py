"""Facts, conflicts and decisions, laid out for a terminal or as rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from concord import Claim, Conflict, Decision, EntityRef, Evidence, Fact, Source, to_dict
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from concord_server.cli import output
from concord_server.cli.output import cell, day, printable

STATUS_STYLES = {
    "ACTIVE": "green",
    "PENDING": "yellow",
    "DISPUTED": "magenta",
    "SUPERSEDED": "dim",
    "ARCHIVED": "dim",
    "RETRACTED": "red",
    "DELETED": "red",
}

FACT_COLUMNS = (
    "fact_id",
    "status",
    "confidence",
    "source_count",
    "valid_from",
    "valid_to",
    "owner",
    "domain",
    "conflict_id",
    "text",
)
CONFLICT_COLUMNS = (
    "conflict_id",
    "state",
    "role",
    "fact_id",
    "status",
    "confidence",
    "valid_from",
    "text",
    "reason",
)
CANDIDATE_COLUMNS = ("fact_id", "similarity", "relation", "p", "discrepancies", "chosen")


def entity_text(ref: EntityRef | None) -> str:
    """Returns ``TYPE:ID``, with the role where it is not that of a subject; empty for None."""
    if ref is None:
        return ""
    role = "" if ref.role in {"SUBJECT", "UNSPECIFIED"} else f" ({ref.role.value.lower()})"
    return f"{ref.entity_type}:{ref.entity_id}{role}"


def claim_text(claim: Claim | None) -> str:
    """Returns ``subject · predicate = value`` with qualifiers in brackets; empty for None."""
    if claim is None:
        return ""
    qualifiers = f" {_compact(claim.qualifiers)}" if claim.qualifiers else ""
    return f"{claim.subject} · {claim.predicate} = {_compact(claim.value)}{qualifiers}"


def _compact(value: object) -> str:
    return json.dumps(to_dict(value), ensure_ascii=False)


def validity_text(fact: Fact) -> str:
    """Returns when a fact holds: ``since 2025-03-02``, or ``2025-03-02 to 2025-04-01``."""
    start = day(fact.valid_from)
    return f"{start} to {day(fact.valid_to)}" if fact.valid_to else f"since {start}"


def fact_row(fact: Fact) -> Sequence[object]:
    """Returns the values of FACT_COLUMNS."""
    return (
        fact.fact_id,
        fact.status.value,
        fact.confidence,
        fact.source_count,
        fact.valid_from,
        fact.valid_to,
        entity_text(fact.owner),
        fact.domain,
        fact.conflict_id,
        fact.text,
    )


def fact_card(fact: Fact) -> RenderableType:
    """Lays a fact out in two lines: the wording, then what there is to know about it."""
    status = fact.status.value
    notes = [f"{fact.confidence:.2f}", _sources(fact.source_count), validity_text(fact)]
    notes += [note for note in (entity_text(fact.owner), fact.domain) if note]
    notes += ["in conflict"] if fact.conflict_id else []
    line = Text.assemble(
        (f"{status:<10}", STATUS_STYLES.get(status, "")), "  ", (printable("  ".join(notes)), "dim")
    )
    line.append(f"  {fact.fact_id}", style="dim")
    return Group(Text(printable(fact.text) or "(erased)", style="bold"), Padding(line, (0, 0, 0, 2), expand=False))


def _sources(count: int) -> str:
    return "1 source" if count == 1 else f"{count} sources"


def fact_fields(fact: Fact) -> Iterable[tuple[str, object]]:
    """Returns names and values of a fact, leaving out what is empty."""
    fields: list[tuple[str, object]] = [
        ("text", fact.text),
        ("latest_wording", fact.text_raw if fact.text_raw != fact.text else ""),
        ("claim", claim_text(fact.claim)),
        ("fact_id", fact.fact_id),
        ("status", fact.status.value),
        ("confidence", fact.confidence),
        ("source_count", str(fact.source_count)),
        ("valid_from", fact.valid_from),
        ("valid_to", fact.valid_to),
        ("type", fact.type.value),
        ("domain", fact.domain),
        ("access_scope", fact.access_scope),
        ("owner", entity_text(fact.owner)),
        ("subjects", ", ".join(entity_text(subject) for subject in fact.subjects)),
        ("tags", ", ".join(fact.tags)),
        ("evolution", fact.evolution_type.value),
        ("parents", ", ".join(fact.parent_ids)),
        ("conflict_id", fact.conflict_id),
        ("freshness", fact.freshness.value if fact.freshness != "UNSPECIFIED" else ""),
        ("created", fact.create_time),
        ("updated", fact.update_time),
        ("version", str(fact.version)),
        ("metadata", _compact(fact.metadata) if fact.metadata else ""),
    ]
    return [(name, value) for name, value in fields if value not in (None, "")]


def source_text(source: Source) -> str:
    """Returns a source in one line: its names, credibility and trust."""
    names = [source.title, source.url, source.external_id, source.source_type]
    credibility = "" if source.credibility is None else f"credibility {source.credibility:.2f}"
    notes = [note for note in (credibility, source.trust.value.lower().replace("_", " ")) if note]
    return f"{' · '.join(name for name in names if name)} ({', '.join(notes)})"


def evidence_text(evidence: Evidence) -> str:
    """Returns a passage in one line: stance, words, and where they are."""
    quote = f"“{evidence.quote}”" if evidence.quote else ""
    place = " ".join(part for part in (evidence.source_ref, evidence.locator) if part)
    return " ".join(
        part for part in (evidence.stance.value.lower(), quote, f"at {place}" if place else "") if part
    )


def field_table(fields: Iterable[tuple[str, object]]) -> RenderableType:
    """Lays names and values out in two columns."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fields:
        table.add_row(name, Text(cell(value), style="bold" if name == "text" else ""))
    return table


def conflict_rows(conflict: Conflict) -> Iterable[Sequence[object]]:
    """Returns the values of CONFLICT_COLUMNS, a row for each member."""
    for fact in conflict.facts:
        yield (
            conflict.conflict_id,
            conflict.state.value,
            _role(conflict, fact),
            fact.fact_id,
            fact.status.value,
            fact.confidence,
            fact.valid_from,
            fact.text,
            conflict.reason,
        )


def _role(conflict: Conflict, fact: Fact) -> str:
    if conflict.state == "RESOLVED":
        return "kept" if conflict.kept_fact_id == fact.fact_id else "member"
    return "incumbent" if fact.status != "PENDING" else "challenger"


def conflict_card(conflict: Conflict) -> RenderableType:
    """Lays a conflict out: what it is about, then its members."""
    state = conflict.state.value
    head = Text.assemble((state, "magenta" if state == "OPEN" else "green"), f"  {conflict.conflict_id}")
    head.append(f"  {day(conflict.create_time)}  {printable(conflict.reason)}", style="dim")
    members: list[RenderableType] = []
    for fact in conflict.facts:
        line = Text.assemble((f"{_role(conflict, fact):<11}", "dim"), (printable(fact.text), "bold"))
        line.append(f"\n{'':<11}{fact.confidence:.2f}  {validity_text(fact)}  {fact.fact_id}", style="dim")
        members.append(line)
    if conflict.resolution_note:
        members.append(Text(f"{'note':<11}{printable(conflict.resolution_note)}", style="dim"))
    return Group(head, Padding(Group(*members), (0, 0, 0, 2), expand=False))


def decision_fields(decision: Decision) -> Iterable[tuple[str, object]]:
    """Returns names and values of a decision."""
    thresholds = {
        "similarity": decision.similarity_threshold,
        "conflict": decision.conflict_threshold,
        "merge probability": decision.merge_probability_threshold,
        "supersede probability": decision.supersede_probability_threshold,
    }
    fields: list[tuple[str, object]] = [
        ("action", decision.action.value),
        ("basis", decision.basis.value),
        ("rationale", decision.rationale),
        ("judge", decision.judge),
        ("thresholds", ", ".join(f"{name} {value:g}" for name, value in thresholds.items())),
        ("decision_id", decision.decision_id),
        ("time", decision.create_time),
    ]
    return [(name, value) for name, value in fields if value not in (None, "")]


def candidate_rows(decision: Decision) -> list[Sequence[Any]]:
    """Returns the values of CANDIDATE_COLUMNS for each fact that was considered."""
    return [
        (
            candidate.fact_id,
            candidate.similarity,
            candidate.relation.value if candidate.relation != "UNSPECIFIED" else "",
            candidate.probabilities.get(candidate.relation),
            ", ".join(candidate.discrepancies),
            "yes" if candidate.chosen else "no",
        )
        for candidate in decision.candidates
    ]


def row_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> RenderableType:
    """Lays rows out under a header."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        # An id that is broken over two lines cannot be copied.
        table.add_column(column, overflow="fold", no_wrap=column.endswith("_id"))
    for row in rows:
        table.add_row(*(Text(cell(value)) for value in row))
    return table


def write_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Writes rows under a header: laid out on a terminal, tab-separated when piped."""
    if output.on_terminal():
        output.show(row_table(columns, rows))
    else:
        output.write_rows(columns, rows)
