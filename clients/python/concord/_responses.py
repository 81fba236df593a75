"""Reads the responses of a stream in a thread of its own."""

from __future__ import annotations

import queue
import threading
from typing import Any

import grpc

from concord._watch import StreamEndedError
from concord.errors import error_from_rpc

_Answer = tuple[Any, BaseException | None]


class Responses:
    """The responses of one call, one at a time.

    A signal that is raised within gRPC's own waiting can leave its lock taken for good, so that nobody waits there whom
    signals reach: Ctrl-C raises in the caller's thread, which waits at a queue. Nothing is read ahead of the caller.
    """

    def __init__(self, call: Any) -> None:  # noqa: ANN401 - a call with responses of any type
        self._call = call
        self._wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._read: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="concord responses", daemon=True).start()

    def receive(self) -> Any:  # noqa: ANN401 - as above
        """Returns the next response of a stream that should not end.

        Raises:
            ConcordError: the stream broke; ``StreamEndedError`` when the server ended it.
        """
        self._wanted.put(True)
        response, error = self._read.get()
        if isinstance(error, grpc.RpcError):
            raise error_from_rpc(error) from error
        if isinstance(error, StopIteration):
            raise StreamEndedError("the server ended the stream") from None
        if error is not None:
            raise error
        return response

    def cancel(self) -> None:
        """Ends the call at once, and the thread that reads it."""
        self._wanted.put(False)
        self._call.cancel()

    def _work(self) -> None:
        while self._wanted.get():
            try:
                answer: _Answer = (next(self._call), None)
            except BaseException as error:  # noqa: BLE001 - raised where the response is waited for
                answer = (None, error)
            self._read.put(answer)
