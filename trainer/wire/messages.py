"""Every message between peers. A frame is one of these as a JSON header, and for some a binary payload behind it.

docs/protocol.md tells the round in prose. Rules about who may send what, and when, are in swarm.
"""

from typing import Any

from trainer.errors import BadMessage
from trainer.wire.fields import (
    INT32,
    INT53,
    Checked,
    Message,
    boolean,
    hexadecimal,
    integer,
    json_object,
    list_of,
    number,
    one_of,
    optional,
    record,
    rule,
    text,
)  # fmt: skip
from trainer.wire.files import PieceFile
from trainer.wire.hello import PEER, REASON, Hello, HelloProof, HelloReply, Pass, Refused
from trainer.wire.records import JOB, MOST_MEMBERS

STEP = integer(0, INT32)
SECONDS = number(0, 1e7)


# Control: between a member and the backbone.


class Address(Checked):
    KIND = "address"
    peer_id: str = rule(PEER)
    host: str = rule(text(255, shortest=1))
    port: int = rule(integer(1, 65535))


class Welcome(Message):
    """Backbone → peer, after the handshake and from time to time: the pass to show to other peers."""

    KIND = "welcome"
    admission: Pass = rule(record(Pass))


class Here(Message):
    """Peer → backbone: where this peer listens, and what it calls itself."""

    KIND = "here"
    host: str = rule(text(255, shortest=1))
    port: int = rule(integer(1, 65535))
    name: str = rule(text(80))


class Beat(Message):
    """Either way, so that silence means something. Counters of a peer since its start."""

    KIND = "beat"
    bytes_in: int = rule(integer(0, INT53))
    bytes_out: int = rule(integer(0, INT53))


class Assign(Message):
    """Backbone → peer: make ready for this job. Payload: the release's manifest with its train files only."""

    KIND = "assign"
    job: str = rule(JOB)
    recipe: str = rule(text(60, shortest=1))
    recipe_version: str = rule(text(20))
    parameters: dict[str, Any] = rule(json_object(20_000))
    holders: tuple[Address, ...] = rule(list_of(record(Address), most=64))


class Prepared(Message):
    """Peer → backbone: data decoded, model built; `size` is the length of the vector it would reduce."""

    KIND = "prepared"
    job: str = rule(JOB)
    size: int = rule(integer(1, INT53))
    n_items: int = rule(integer(1, INT53))


class Unfit(Message):
    """Peer → backbone: this peer cannot take part in the job, or not in this round (`step` ≥ 0)."""

    KIND = "unfit"
    job: str = rule(JOB)
    step: int = rule(integer(-1, INT32))
    term: int = rule(integer(-1, INT32))
    cause: str = rule(one_of("prepare", "state", "not-finite", "compute"))
    reason: str = rule(REASON)


class State(Message):
    """Backbone → joiner: fetch these bytes; they are parameters and optimizer state after `step` steps."""

    KIND = "state"
    job: str = rule(JOB)
    step: int = rule(STEP)
    digest: str = rule(hexadecimal(32))
    file: PieceFile = rule(record(PieceFile))
    holders: tuple[Address, ...] = rule(list_of(record(Address), least=1, most=64))


class Synced(Message):
    KIND = "synced"
    job: str = rule(JOB)
    step: int = rule(STEP)
    digest: str = rule(hexadecimal(32))


class Release(Message):
    """Backbone → peer: the job is over for this peer; it is idle again."""

    KIND = "release"
    job: str = rule(JOB)
    reason: str = rule(REASON)


class Leave(Message):
    """Peer → backbone: name me in no further round. The backbone closes the channel when the running one is over."""

    KIND = "leave"


# The round.


class Share(Checked):
    """A member of a round: where it listens, and its part [first, first + count) of the batch."""

    KIND = "share"
    peer_id: str = rule(PEER)
    host: str = rule(text(255, shortest=1))
    port: int = rule(integer(1, 65535))
    first: int = rule(integer(0, INT32))
    count: int = rule(integer(1, INT32))


class Span(Checked):
    """The part [first, first + count) of the vector that `owner` sums."""

    KIND = "span"
    owner: str = rule(PEER)
    first: int = rule(integer(0, INT53))
    count: int = rule(integer(1, INT53))


class Plan(Message):
    """Backbone → members: the round of this step under this term. `watchers` receive the result and add nothing.

    Units: `size` in elements of `dtype`; `limit_s` seconds from the plan's arrival until a member accuses whoever
    is missing.
    """

    KIND = "plan"
    job: str = rule(JOB)
    step: int = rule(STEP)
    term: int = rule(STEP)
    members: tuple[Share, ...] = rule(list_of(record(Share), least=1, most=MOST_MEMBERS))
    watchers: tuple[Address, ...] = rule(list_of(record(Address), most=MOST_MEMBERS))
    spans: tuple[Span, ...] = rule(list_of(record(Span), least=1, most=MOST_MEMBERS))
    batch: int = rule(integer(1, INT32))
    seed: int = rule(integer(0, INT53))
    n_items: int = rule(integer(1, INT53))
    size: int = rule(integer(1, INT53))
    dtype: str = rule(one_of("float32", "float64"))
    limit_s: float = rule(SECONDS)
    check_state: bool = rule(boolean())

    @property
    def key(self) -> tuple[int, int]:
        """Order of rounds within a job: a later term wins over any step."""
        return (self.term, self.step)

    def check(self) -> None:
        ids = [member.peer_id for member in self.members]
        if len({*ids, *(watcher.peer_id for watcher in self.watchers)}) != len(ids) + len(self.watchers):
            raise BadMessage(self.KIND, "members", "a peer appears twice")
        if not {span.owner for span in self.spans} <= set(ids):
            raise BadMessage(self.KIND, "spans", "owned by a peer that is no member")
        for field, parts, whole in (("members", self.members, self.batch), ("spans", self.spans, self.size)):
            reached = 0
            for part in parts:
                if part.first != reached:
                    raise BadMessage(self.KIND, field, f"a gap or an overlap at {reached}")
                reached += part.count
            if reached != whole:
                raise BadMessage(self.KIND, field, f"they cover {reached} of {whole}")


class Part(Message):
    """Between members: elements [offset, offset + count) of a span. Payload: their bytes, little-endian.

    phase `slice`: the sender's own values, to the span's owner; `mean`: the owner's result, to everybody.
    """

    KIND = "part"
    job: str = rule(JOB)
    step: int = rule(STEP)
    term: int = rule(STEP)
    phase: str = rule(one_of("slice", "mean"))
    span: int = rule(integer(0, MOST_MEMBERS))
    offset: int = rule(integer(0, INT53))
    count: int = rule(integer(1, INT53))


class Done(Message):
    """Member → backbone: I hold the whole result. The signature is over the member's `Attestation`; watchers send none.

    `state_digest`, when the plan asks for it: the SHA-256 of the state before this step is applied.
    """

    KIND = "done"
    job: str = rule(JOB)
    step: int = rule(STEP)
    term: int = rule(STEP)
    digest: str = rule(hexadecimal(32))
    state_digest: str | None = rule(optional(hexadecimal(32)))
    samples: int = rule(integer(0, INT32))
    loss: float = rule(number(-1e30, 1e30))
    compute_s: float = rule(SECONDS)
    signature: str | None = rule(optional(hexadecimal(64)))


class Accuse(Message):
    """Member → backbone: I cannot finish this round, because of these peers.

    `evidence`: what is missing or wrong. "results" is weak: their owner may itself be waiting for somebody's slices.
    """

    KIND = "accuse"
    job: str = rule(JOB)
    step: int = rule(STEP)
    term: int = rule(STEP)
    suspects: tuple[str, ...] = rule(list_of(PEER, least=1, most=MOST_MEMBERS))
    evidence: str = rule(one_of("slices", "results", "channel", "values"))
    reason: str = rule(REASON)


class Commit(Message):
    """Backbone → members: everybody holds the result with this digest; apply it."""

    KIND = "commit"
    job: str = rule(JOB)
    step: int = rule(STEP)
    term: int = rule(STEP)
    digest: str = rule(hexadecimal(32))


class Abort(Message):
    """Backbone → members: forget this round; nothing of it is applied."""

    KIND = "abort"
    job: str = rule(JOB)
    step: int = rule(STEP)
    term: int = rule(STEP)
    reason: str = rule(REASON)


# Pieces.


class Want(Message):
    KIND = "want"
    sha256: str = rule(hexadecimal(32))


class Piece(Message):
    """The answer to `Want`. Payload: the bytes, when found."""

    KIND = "piece"
    sha256: str = rule(hexadecimal(32))
    found: bool = rule(boolean())


HANDSHAKE = (Hello, HelloReply, HelloProof, Refused)
MESSAGES: dict[str, type[Message]] = {kind.KIND: kind for kind in Message.__subclasses__()}


def parse_message(header: Any) -> Message:
    """The message in a frame's header. Raises BadMessage."""
    if not isinstance(header, dict) or not isinstance(header.get("kind"), str):
        raise BadMessage("?", "kind", "missing")
    kind = MESSAGES.get(header["kind"])
    if kind is None:
        raise BadMessage(header["kind"][:40], "kind", "no such message")
    return kind.from_dict({name: value for name, value in header.items() if name != "kind"})
