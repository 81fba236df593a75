"""Random assertions, few values and times apart so that they meet often."""

from concord_server.domain.enums import Trust
from concord_server.domain.timeline import Assertion, AssertionState
from concord_server.domain.values import Json
from hypothesis import strategies as st

from tests.unit.domain.builders import AMEND, CORRECT, PATCH, STATE, said

DAYS = st.integers(0, 12)
OBJECTS = st.dictionaries(st.sampled_from("ab"), st.sampled_from([None, 1, 2]), min_size=1, max_size=2)
VALUES: st.SearchStrategy[Json] = st.one_of(st.sampled_from(["A", "B", "C"]), OBJECTS)


@st.composite
def assertions(draw: st.DrawFn, *, amend: bool = True, states: bool = True) -> list[Assertion]:
    """Any set of assertions, also ones that no sequence of statements would leave behind."""
    kinds = [STATE, PATCH, CORRECT, AMEND] if amend else [STATE, PATCH, CORRECT]
    found = []
    for number in range(draw(st.integers(0, 9))):
        found.append(
            said(
                number,
                draw(VALUES),
                draw(DAYS),
                end=draw(st.none() | DAYS),
                kind=draw(st.sampled_from(kinds)),
                trust=draw(st.sampled_from(list(Trust))),
                state=draw(st.sampled_from(list(AssertionState))) if states else AssertionState.ADMITTED,
                fact=draw(st.integers(0, 4)),
            )
        )
    return found
