"""Changing a predicate by hand: how many values hold at once, what else it is called, what may mean the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from concord_server.domain.commands import MAX_PREDICATE, Violations
from concord_server.domain.enums import Cardinality
from concord_server.domain.predicates import Predicate
from concord_server.domain.text import label_problem
from concord_server.domain.values import normalise_predicate

CARDINALITY, ALIASES, SUGGESTIONS = "cardinality", "aliases", "suggestions"
FIELDS = frozenset({CARDINALITY, ALIASES, SUGGESTIONS})
"""What can be changed."""

MAX_ALIASES = 100
"""Other names that a predicate may have."""


@dataclass(frozen=True, slots=True)
class PredicateUpdate:
    """What to change about a predicate; only what ``mask`` names counts.

    Attributes:
        predicate: its name; this and all other names are normalised when they are compared.
        aliases: all names that are to mean it.
        suggestions: those of its suggestions that are to stay.
    """

    predicate: str
    mask: frozenset[str]
    cardinality: Cardinality | None = None
    aliases: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()

    def validate(self, found: Violations) -> None:
        """Adds what is wrong with it, whatever is stored."""
        _validate_name("predicate", self.predicate, found)
        if not self.mask:
            found.add("update_mask", f"must name at least one of {', '.join(sorted(FIELDS))}")
        for path in sorted(self.mask - FIELDS):
            found.add("update_mask", f"cannot change {path}; it can change {', '.join(sorted(FIELDS))}")
        if CARDINALITY in self.mask and self.cardinality is None:
            found.add(CARDINALITY, "must be given")
        if ALIASES in self.mask and len(self.aliases) > MAX_ALIASES:
            found.add(ALIASES, f"must have at most {MAX_ALIASES} names, has {len(self.aliases)}")
        for name, given in ((ALIASES, self.aliases), (SUGGESTIONS, self.suggestions)):
            if name in self.mask:
                for index, item in enumerate(given):
                    _validate_name(f"{name}[{index}]", item, found)

    def normalised(self) -> PredicateUpdate:
        """Returns it with every name in lower snake case, each once."""
        return PredicateUpdate(
            normalise_predicate(self.predicate),
            self.mask,
            self.cardinality,
            tuple(dict.fromkeys(map(normalise_predicate, self.aliases))),
            tuple(dict.fromkeys(map(normalise_predicate, self.suggestions))),
        )


@dataclass(frozen=True, slots=True)
class PredicateChange:
    """What an update comes to.

    Attributes:
        cardinality: the new one, ``None`` where it stays.
        add: names that become aliases; ``remove``: those that mean themselves again.
        drop: names that are not to be proposed for the predicate again.
    """

    cardinality: Cardinality | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    drop: tuple[str, ...] = field(default=())


def plan_update(
    known: Predicate,
    update: PredicateUpdate,
    aliases: Mapping[str, str],
    cardinalities: Mapping[str, Cardinality],
    found: Violations,
) -> PredicateChange:
    """Returns what an update comes to, having added what the stored names do not allow to ``found``.

    An alias stays one step from the predicate that it means: a name that has aliases of its own brings them along,
    one that means another predicate must be taken from there first, and an alias gets none. Names that mean the
    same hold as many values.

    Args:
        known: the predicate as it is.
        update: normalised.
        aliases: alias → predicate, of the families of all names of the update.
        cardinalities: of those names that are predicates themselves.
    """
    if known.predicate in aliases and update.mask & {CARDINALITY, ALIASES}:
        found.add("predicate", f"{known.predicate} is an alias of {aliases[known.predicate]}; change that one")
    cardinality = known.cardinality
    if CARDINALITY in update.mask and update.cardinality is not None:
        cardinality = update.cardinality
    wanted = update.aliases if ALIASES in update.mask else known.aliases
    add = tuple(name for name in wanted if name not in known.aliases)
    for index, name in enumerate(update.aliases if ALIASES in update.mask else ()):
        found.add(f"aliases[{index}]", _alias_problem(name, known, cardinality, aliases, cardinalities))
    remove = tuple(name for name in known.aliases if name not in wanted)
    suggested = [suggestion.predicate for suggestion in known.suggestions]
    drop: tuple[str, ...] = ()
    if SUGGESTIONS in update.mask:
        for index, name in enumerate(update.suggestions):
            if name not in suggested:
                found.add(f"suggestions[{index}]", f"is no suggestion of {known.predicate}")
        drop = tuple(name for name in suggested if name not in update.suggestions and name not in add)
    return PredicateChange(
        cardinality=None if cardinality is known.cardinality else cardinality,
        add=add,
        remove=remove,
        drop=(*drop, *remove),
    )


def _alias_problem(
    name: str,
    known: Predicate,
    cardinality: Cardinality,
    aliases: Mapping[str, str],
    cardinalities: Mapping[str, Cardinality],
) -> str | None:
    if name == known.predicate:
        return "must be another name than the predicate's"
    if name in known.aliases:
        return None
    if name in aliases:
        return f"is an alias of {aliases[name]}; take it from there first"
    own = cardinalities.get(name)
    if own is not None and own is not cardinality:
        return f"is {own.value} and {known.predicate} is {cardinality.value}; make them alike first"
    return None


def _validate_name(field_name: str, name: str, found: Violations) -> None:
    if not name:
        found.add(field_name, "must be given")
        return
    problem = label_problem(name, max_length=MAX_PREDICATE)
    if problem is None and not normalise_predicate(name):
        problem = "must contain a letter or a digit"
    found.add(field_name, problem)
