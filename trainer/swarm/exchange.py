"""The sums of one round at one peer: slices kept apart per sender, added in member order, the result beside them.

No sockets: parts come in through `accept`, go out as `Part`s. The order of addition is the member list's, in float64,
so that every owner gets the same bytes whatever arrives first.
"""

import hashlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from trainer.errors import BadMessage
from trainer.wire.messages import Part, Plan

PART_BYTES = 2**20
BLOCK = 32_768  # elements added at a time: two float64 blocks stay in the cache


class Memory:
    """Arrays kept from round to round: touching fresh pages costs more than the transfer itself."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def take(self, name: str, size: int, dtype: str) -> np.ndarray:
        array = self._arrays.pop(name, None)
        if array is None or array.size != size or array.dtype != dtype:
            array = np.zeros(size, dtype)
        return array

    def drop_rest(self) -> None:
        """Frees what the current round did not take: slices of peers that have gone."""
        self._arrays.clear()

    def give_back(self, name: str, array: np.ndarray) -> None:
        self._arrays[name] = array


class Exchange:
    """One round. `own` is this peer's vector (None for a watcher); `result` is whole once `is_complete`."""

    def __init__(self, plan: Plan, me: str, memory: Memory) -> None:
        self.plan, self.me, self._memory = plan, me, memory
        self.own: np.ndarray | None = None
        self.sending: list[str] = []  # to whom parts are on their way
        self.my_spans = [index for index, span in enumerate(plan.spans) if span.owner == me]
        self.result = memory.take("result", plan.size, plan.dtype)
        self._weights = {member.peer_id: member.count / plan.batch for member in plan.members}
        self._slices = {
            (index, sender): memory.take(f"slice {index} {sender}", plan.spans[index].count, plan.dtype)
            for index in self.my_spans
            for sender in self._weights
            if sender != me
        }
        memory.drop_rest()
        self._reached = {("slice", *key): 0 for key in self._slices}
        self._reached |= {("mean", index, span.owner): 0 for index, span in enumerate(plan.spans)}

    # what goes out

    def slices_for(self, index: int) -> Iterator[tuple[Part, memoryview]]:
        """This peer's slice of a span, in parts. Needs `own`."""
        if self.own is None:
            raise ValueError("a watcher has no slices")
        span = self.plan.spans[index]
        yield from self._parts("slice", index, self.own[span.first : span.first + span.count])

    def means_of(self, index: int) -> Iterator[tuple[Part, memoryview]]:
        yield from self._parts("mean", index, self._mean(index))

    def _parts(self, phase: str, index: int, values: np.ndarray) -> Iterator[tuple[Part, memoryview]]:
        step = PART_BYTES // values.itemsize
        for offset in range(0, len(values), step):
            cut = values[offset : offset + step]
            part = Part(
                job=self.plan.job, step=self.plan.step, term=self.plan.term, phase=phase, span=index,
                offset=offset, count=len(cut),
            )  # fmt: skip
            yield part, _wire_bytes(cut)

    # what comes in

    def place(self, sender: str, header: dict[str, Any], size: int) -> memoryview | None:
        """Where an arriving part's payload may go directly; None when anything about it is odd (`accept` says what)."""
        try:
            part = Part.from_dict({name: value for name, value in header.items() if name != "kind"})
            target = self._target(sender, part, size)
        except BadMessage:
            return None
        return memoryview(target.data).cast("B") if sys.byteorder == "little" else None

    def accept(self, sender: str, part: Part, payload: memoryview) -> None:
        """Raises BadMessage (drop the peer): not this peer's to send, out of order, or of another size."""
        target = self._target(sender, part, len(payload))
        values = np.frombuffer(payload, dtype=target.dtype.newbyteorder("<"))
        if values.ctypes.data != target.ctypes.data:
            target[:] = values
        self._reached[(part.phase, part.span, sender)] += part.count

    def _target(self, sender: str, part: Part, size: int) -> np.ndarray:
        reached = self._reached.get((part.phase, part.span, sender))
        if reached is None or (part.phase == "mean" and sender == self.me):
            raise BadMessage(
                part.KIND, "span", f"{part.phase} of span {part.span} is not this peer's to send here"
            )
        whole = self._mean(part.span) if part.phase == "mean" else self._slices[(part.span, sender)]
        if part.offset != reached or part.offset + part.count > len(whole):
            raise BadMessage(part.KIND, "offset", f"{part.offset}+{part.count} where {reached} was next")
        if size != part.count * whole.itemsize:
            raise BadMessage(part.KIND, "payload", f"{size} bytes for {part.count} elements")
        return whole[part.offset : part.offset + part.count]

    # sums

    def missing_senders(self) -> tuple[str, ...]:
        """Members whose slices of this peer's spans are not all here."""
        late = {
            sender for (index, sender), values in self._slices.items()
            if self._reached[("slice", index, sender)] < len(values)
        }  # fmt: skip
        return tuple(sorted(late))

    def missing_owners(self) -> tuple[str, ...]:
        """Owners whose results are not all here."""
        late = {span.owner for index, span in enumerate(self.plan.spans) if not self._has_mean(index)}
        return tuple(sorted(late))

    @property
    def is_complete(self) -> bool:
        return not self.missing_owners()

    def sum_span(self, index: int) -> tuple[str, ...]:
        """Σ weightᵢ·sliceᵢ over the members in their order, weights summing to 1. Needs `own` and every slice.

        Returns: members whose slice is not finite (then the result is not to be sent).
        """
        if self.own is None:
            raise ValueError("a watcher owns no span")
        span, mean = self.plan.spans[index], self._mean(index)
        mine = self.own[span.first : span.first + span.count]
        slices = [
            (mine if member.peer_id == self.me else self._slices[(index, member.peer_id)], member)
            for member in self.plan.members
        ]
        for start in range(0, span.count, BLOCK):
            block = slice(start, min(start + BLOCK, span.count))
            total, scratch = np.zeros(block.stop - block.start), np.empty(block.stop - block.start)
            for values, member in slices:
                np.multiply(values[block], self._weights[member.peer_id], out=scratch, dtype=np.float64)
                total += scratch
            mean[block] = total
        self._reached[("mean", index, self.me)] = span.count
        if np.isfinite(mean).all():
            return ()
        bad = tuple(member.peer_id for values, member in slices if not np.isfinite(values).all())
        return bad or tuple(self._weights)  # each is finite, but their sum overflows

    def digest(self) -> str:
        """SHA-256 of the whole result's little-endian bytes."""
        return hashlib.sha256(_wire_bytes(self.result)).hexdigest()

    def close(self, *, clean: bool) -> None:
        """Ends the round. `clean`: committed, so that no channel still reads or writes these arrays: keep them."""
        if clean:
            self._memory.give_back("result", self.result)
            for (index, sender), values in self._slices.items():
                self._memory.give_back(f"slice {index} {sender}", values)

    def _mean(self, index: int) -> np.ndarray:
        span = self.plan.spans[index]
        return self.result[span.first : span.first + span.count]

    def _has_mean(self, index: int) -> bool:
        span = self.plan.spans[index]
        return self._reached[("mean", index, span.owner)] == span.count


def _wire_bytes(values: np.ndarray) -> memoryview:
    return values.astype(values.dtype.newbyteorder("<"), copy=False).data.cast("B")
