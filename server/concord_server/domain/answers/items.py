"""Takes the items out of an answer, whatever was put around them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from concord_server.domain.answers.answer import Answer, UnreadableAnswer
from concord_server.domain.answers.locate import read_answer
from concord_server.domain.answers.shapes import MAX_WRAPPERS
from concord_server.domain.values import Json


@dataclass(frozen=True, slots=True)
class Items:
    """The items of an answer, in its order, of whatever type they are.

    Attributes:
        bare: whether they came without the object that was asked for around them.
    """

    values: tuple[Json, ...]
    bare: bool = False


def member_of(answer: Answer, key: str) -> Json:
    """Returns the member of the answer's object, or of an object within it; ``None`` where there is none."""
    wrapper = _with_key(answer.value, key, 0)
    return None if wrapper is None else wrapper[key]


def items_of(answer: Answer, key: str, item_keys: Collection[str]) -> Items | UnreadableAnswer:
    """Returns the items of the list that was asked for.

    Understood are the object that was asked for, the same within another object, a bare list, a list under another
    key, and a single item.

    Args:
        key: of the list.
        item_keys: by which a single item is known.
    """
    value = answer.value
    if isinstance(value, list):
        return Items(tuple(_flat(value, key, 0)), bare=True)
    wrapper = _with_key(value, key, 0)
    if wrapper is not None:
        return _listed(wrapper[key], key, item_keys)
    if any(name in value for name in item_keys):
        # An object whose end is missing may lack what would change its meaning.
        return Items(() if answer.cut_off else (value,), bare=True)
    lists = [member for member in _members(value, 0) if _has_items(member, item_keys)]
    if len(lists) == 1:
        return Items(tuple(lists[0]), bare=True)
    if answer.cut_off:
        return UnreadableAnswer("cut_off")
    return UnreadableAnswer("unexpected_shape")


def _listed(value: Json, key: str, item_keys: Collection[str]) -> Items | UnreadableAnswer:
    if isinstance(value, str):  # a list that was written into a string
        within = read_answer(value, item_keys)
        value = within.value if isinstance(within, Answer) and not within.partial else value
    if value is None:
        return Items(())
    if isinstance(value, list):
        return Items(tuple(_flat(value, key, 0)))
    if isinstance(value, dict):
        numbered = value and all(isinstance(member, dict) for member in value.values())
        return Items(tuple(value.values()) if numbered else (value,) if value else ())
    return UnreadableAnswer("unexpected_shape")


def _flat(values: list[Json], key: str, depth: int) -> list[Json]:
    """Returns the elements, those of lists and of further answers within the list among them."""
    flat: list[Json] = []
    for value in values:
        inner = value[key] if isinstance(value, dict) and isinstance(value.get(key), list) else value
        if isinstance(inner, list) and depth < MAX_WRAPPERS:
            flat.extend(_flat(inner, key, depth + 1))
        else:
            flat.append(value)
    return flat


def _with_key(value: Json, key: str, depth: int) -> dict[str, Json] | None:
    """Returns the object with a key: the value, an element of it, or an object within objects; not what is listed."""
    if isinstance(value, list):
        inner: Collection[Json] = value if depth == 0 else ()
    elif isinstance(value, dict):
        if key in value:
            return value
        inner = [member for member in value.values() if isinstance(member, dict)]
    else:
        return None
    if depth == MAX_WRAPPERS:
        return None
    found = (_with_key(member, key, depth + 1) for member in inner)
    return next((wrapper for wrapper in found if wrapper is not None), None)


def _members(value: dict[str, Json], depth: int) -> list[list[Json]]:
    """Returns the lists within an object and the objects in it."""
    lists: list[list[Json]] = []
    for member in value.values():
        if isinstance(member, list):
            lists.append(member)
        elif isinstance(member, dict) and depth < MAX_WRAPPERS:
            lists.extend(_members(member, depth + 1))
    return lists


def _has_items(values: list[Json], item_keys: Collection[str]) -> bool:
    return any(isinstance(v, dict) and any(name in v for name in item_keys) for v in values)
