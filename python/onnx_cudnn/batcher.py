"""Batcher: requests that arrive at about the same time become one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from . import _core, _types
from ._messages import drain
from .errors import BY_CODE
from .session import InferenceSession, RunFuture


class Batcher:
    """Joins the requests of many threads, in this process. A row is an element of the first axis; rows must not depend on each other.

    session      a model whose inputs and outputs all have the same symbol as their first dim
    max_batch    rows of a run at most
    max_delay_s  how long the oldest request of a batch that is not full waits for others
    batch_sizes  rows that runs have, ascending, and max_batch; a batch is filled up to the next one with copies of its first row. Default: powers
                 of two. SessionOptions.max_programs should be as many
    max_queued   rows that may wait; a request beyond raises ResourceExhausted
    threads      runs at once. 0: two for each GPU of the session

    Raises InvalidArgument: the options. Unimplemented: a model without such an axis.
    """

    def __init__(
        self,
        session: InferenceSession,
        *,
        max_batch: int = 32,
        max_delay_s: float = 0.001,
        batch_sizes: Sequence[int] = (),
        max_queued: int = 1024,
        threads: int = 0,
    ) -> None:
        self._session = session
        self._batcher = _core.Batcher(session._session, max_batch, max_delay_s, list(batch_sizes), max_queued, threads)

    def run(self, input_feed: Mapping[str, Any], timeout_s: float | None = None) -> list[Any]:
        """The outputs for these rows, as InferenceSession.run(None, input_feed) gives them.

        Raises Cancelled: the request still waited after timeout_s. ResourceExhausted: too many rows wait. FailedPrecondition: the batcher
        was stopped. InvalidArgument: as InferenceSession.run, of this request alone.
        """
        outputs: list[Any] = self.submit(input_feed, timeout_s).result()
        return outputs

    def submit(self, input_feed: Mapping[str, Any], timeout_s: float | None = None) -> RunFuture:
        """The same without waiting. The inputs must not change before the future is done, whose cancel() ends a request that still waits."""
        future, flag = RunFuture(), _core.CancelFlag()

        def ended(outputs: list[_core.Tensor] | None, code: int | None, message: str) -> None:
            if not future.set_running_or_notify_cancel():
                return
            if outputs is None:
                future.set_exception(BY_CODE[code or 0](message))
            else:
                future.set_result([_types.array_of_tensor(tensor) for tensor in outputs])

        def cancel(done: RunFuture) -> None:
            flag.cancelled = done.cancelled()

        future.add_done_callback(cancel)  # type: ignore[arg-type]
        try:
            self._batcher.submit(self._session._inputs(input_feed, None), ended, timeout_s, flag)
        finally:
            drain()
        return future

    def stop(self) -> None:
        """Accepts no more requests, runs those that wait, and returns when all have ended."""
        self._batcher.stop()

    def stats(self) -> _core.BatcherStats:
        """Numbers of requests, runs and rows since the batcher was made."""
        return self._batcher.stats()

    def __enter__(self) -> Batcher:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
