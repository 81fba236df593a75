"""Nobody whom signals reach waits within gRPC."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Iterator

import grpc
import pytest
from concord._responses import Responses
from concord._watch import StreamEndedError


class Call:
    """A call that tells its answers, then blocks until it is cancelled."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.readers: set[int] = set()
        self.waiting = threading.Event()
        self.cancelled = threading.Event()

    def __next__(self) -> object:
        self.readers.add(threading.get_ident())
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        self.waiting.set()
        assert self.cancelled.wait(30)
        raise grpc.RpcError

    def cancel(self) -> None:
        self.cancelled.set()


def test_responses_are_read_in_order_and_never_by_the_caller():
    call = Call("a", "b", StopIteration())
    responses = Responses(call)
    assert [responses.receive(), responses.receive()] == ["a", "b"]
    with pytest.raises(StreamEndedError):
        responses.receive()
    assert threading.get_ident() not in call.readers


def test_nothing_is_read_ahead():
    call = Call("a", "b")
    responses = Responses(call)
    assert responses.receive() == "a"
    assert call.answers == ["b"]


def test_a_defect_of_a_call_is_raised_where_its_response_is_waited_for():
    with pytest.raises(ZeroDivisionError):
        Responses(Call(ZeroDivisionError())).receive()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What runs in the background of a shell ignores interrupts from its start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_waiting_is_raised_and_the_call_can_be_cancelled():
    call = Call()
    responses = Responses(call)

    def interrupt() -> None:
        assert call.waiting.wait(30)
        _thread.interrupt_main()

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        responses.receive()
    responses.cancel()
    assert call.cancelled.is_set()
