"""Families and histories of facts, laid out for a terminal or as plain lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from concord import EvolutionEdge, EvolutionTree, Fact, FactVersion
from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from concord_server.cli.output import printable
from concord_server.cli.rendering import STATUS_STYLES, validity_text

VERSION_COLUMNS = (
    "version",
    "recorded_from",
    "recorded_to",
    "change",
    "status",
    "confidence",
    "valid_from",
    "valid_to",
    "actor",
    "reason",
    "text",
)

_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Branch:
    """A fact at its place in a family.

    Attributes:
        depth: 0 for a root.
        edge: from the parent that it is drawn under, ``None`` for a root.
        others: ids of its other parents.
    """

    fact: Fact
    depth: int
    edge: EvolutionEdge | None
    others: tuple[str, ...]


def branches(family: EvolutionTree) -> Iterator[Branch]:
    """Yields every fact of a family once, each below its first-listed parent, siblings in the family's order.

    What no root leads to, on a graph with a cycle, comes last.
    """
    into: dict[str, list[EvolutionEdge]] = {}
    for edge in family.edges:
        into.setdefault(edge.child_id, []).append(edge)
    below: dict[str, list[Fact]] = {}
    for fact in family.facts:
        if fact.fact_id in into:
            below.setdefault(into[fact.fact_id][0].parent_id, []).append(fact)
    drawn: set[str] = set()
    roots = [fact for fact in family.facts if fact.fact_id not in into]
    for start in [*roots, *family.facts]:
        waiting = [(start, 0)]
        while waiting:
            fact, depth = waiting.pop()
            if fact.fact_id in drawn:
                continue
            drawn.add(fact.fact_id)
            edges = into.get(fact.fact_id, [])
            others = tuple(edge.parent_id for edge in edges[1:])
            yield Branch(fact, depth, edges[0] if edges and depth else None, others)
            waiting.extend((child, depth + 1) for child in reversed(below.get(fact.fact_id, [])))


def family_tree(family: EvolutionTree, asked: str) -> RenderableType:
    """Draws a family; the fact that was asked for stands out."""
    roots: list[Tree] = []
    path: list[Tree] = []
    for branch in branches(family):
        label = _label(branch, asked)
        del path[branch.depth :]
        node = path[-1].add(label) if path else Tree(label, guide_style="dim")
        if not path:
            roots.append(node)
        path.append(node)
    return Group(*roots)


def family_lines(family: EvolutionTree) -> Iterator[str]:
    """Yields a line for each fact of a family, indented by its depth."""
    for branch in branches(family):
        yield f"{_INDENT * branch.depth}{_words(branch.fact)}  ({'  '.join(_notes(branch))})"


def version_rows(versions: Iterable[FactVersion]) -> Iterator[Sequence[object]]:
    """Yields the values of VERSION_COLUMNS for each recorded state."""
    for version in versions:
        fact = version.fact
        yield (
            fact.version,
            version.recorded_from,
            version.recorded_to,
            version.change.value,
            fact.status.value,
            fact.confidence,
            fact.valid_from,
            fact.valid_to,
            version.actor,
            version.reason,
            fact.text,
        )


def _label(branch: Branch, asked: str) -> Text:
    status = branch.fact.status.value
    label = Text(_words(branch.fact), style="bold" if branch.fact.fact_id == asked else "")
    label.append("\n")
    first, *rest = _notes(branch)
    label.append(first, style=STATUS_STYLES.get(status, ""))
    label.append("  " + "  ".join(rest), style="dim")
    return label


def _words(fact: Fact) -> str:
    return printable(fact.text) or "(erased)"


def _notes(branch: Branch) -> list[str]:
    fact = branch.fact
    notes = [fact.status.value, f"{fact.confidence:.2f}"]
    if branch.edge is not None:
        notes.append(branch.edge.evolution_type.value.lower())
    notes.append(validity_text(fact))
    notes += [f"also from {parent}" for parent in branch.others]
    return [*notes, fact.fact_id]
