from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
from concord.v1 import admin_pb2, enums_pb2
from concord_server.api import enums
from concord_server.api.enums import EnumCodec
from concord_server.domain.enums import FactStatus, FactType

CODECS = {name: codec for name, codec in vars(enums).items() if isinstance(codec, EnumCodec)}


@pytest.mark.parametrize("name", CODECS)
def test_every_number_of_the_contract_comes_back_as_it_went(name):
    codec = CODECS[name]
    title = "".join(part.title() for part in name.split("_"))
    proto = getattr(enums_pb2, title, None) or getattr(admin_pb2, title)
    for number in proto.values():
        if number == 0:
            assert codec.from_proto(number) is None
        else:
            member: Any = codec.from_proto(number)
            assert codec.to_proto(member) == number
            assert proto.Name(number).endswith("_" + member.name)


def test_unspecified_is_no_problem_and_an_unknown_number_is():
    assert enums.FACT_TYPE.problem(0) is None
    assert enums.FACT_TYPE.problem(enums_pb2.FACT_TYPE_EVENT) is None
    problem = enums.FACT_TYPE.problem(77)
    assert problem is not None
    assert "77" in problem
    assert "EVENT" in problem
    assert enums.FACT_TYPE.problem(-1) is not None


def test_none_is_sent_as_unspecified():
    assert enums.EVOLUTION_TYPE.optional_to_proto(None) == enums_pb2.EVOLUTION_TYPE_UNSPECIFIED


def test_an_enum_that_differs_from_the_contract_is_refused():
    class Half(Enum):
        ASSERTION = 1

    with pytest.raises(ValueError, match="Half differs from the contract"):
        EnumCodec(enums_pb2.FactType, Half)
    with pytest.raises(ValueError, match="FactStatus differs"):
        EnumCodec(enums_pb2.FactType, FactStatus)
    EnumCodec(enums_pb2.FactType, FactType)
