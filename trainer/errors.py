"""Every error of the training network, and what to do about each.

    TrainerError
    ├── WireError                what a peer sent is wrong                       drop the peer
    │   ├── BadMessage           a field is missing, of the wrong type or range
    │   ├── BadSignature         not signed by the key that it names
    │   ├── TooLarge             longer than the channel allows
    │   ├── HandshakeRefused     the other end is not who it should be
    │   └── Dismissed            the backbone ends the session, and says why
    ├── NetError                 the network failed                              try again
    │   ├── ChannelClosed        the other end went away
    │   ├── Unreachable          no connection in the time allowed
    │   └── PieceUnavailable     no holder gave a piece with this hash
    ├── RoundError               a round cannot be committed
    │   ├── RoundAborted         try again under the next term
    │   ├── RoundStuck           try again without the peers that do not answer
    │   ├── OutOfStep            try again, as a joiner
    │   └── NotFinite            stop: the training has diverged
    ├── InputError               somebody has to change something                fix the input
    │   ├── SettingInvalid       a flag or a file of ours
    │   ├── HomeInUse            another process runs in this home folder
    │   ├── EnrolmentRefused     a code, name or key that the market does not take
    │   ├── ReleaseInvalid       a release's manifest or files
    │   └── NotEnrolled          this peer has no enrolment and no code
    └── MarketError
        ├── MarketUnreachable    try again
        └── MarketRefused        fix the input

`remedy` is for code, the message is for people: it says what was wrong, where, and what to do.
"""

from enum import Enum


class Remedy(Enum):
    RETRY = "try again"
    FIX_INPUT = "fix the input"
    DROP_PEER = "drop the peer"
    STOP = "stop"


class TrainerError(Exception):
    remedy = Remedy.STOP


class WireError(TrainerError):
    remedy = Remedy.DROP_PEER


class BadMessage(WireError):
    def __init__(self, kind: str, field: str, why: str) -> None:
        super().__init__(f"message {kind!r}, field {field!r}: {why}")
        self.kind, self.field, self.why = kind, field, why


class BadSignature(WireError):
    def __init__(self, what: str, peer_id: str, why: str = "the signature does not match") -> None:
        super().__init__(f"{what} of peer {peer_id[:12] or '?'}: {why}")
        self.what, self.peer_id, self.why = what, peer_id, why


class TooLarge(WireError):
    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(f"{what} of {size} bytes; at most {limit} are allowed here")
        self.what, self.size, self.limit = what, size, limit


class HandshakeRefused(WireError):
    def __init__(self, peer: str, why: str) -> None:
        super().__init__(f"handshake with {peer} refused: {why}")
        self.peer, self.why = peer, why


class Dismissed(WireError):
    def __init__(self, peer: str, why: str) -> None:
        super().__init__(f"the backbone at {peer} ended the session: {why}")
        self.peer, self.why = peer, why


class NetError(TrainerError):
    remedy = Remedy.RETRY


class ChannelClosed(NetError):
    def __init__(self, peer: str, why: str = "closed by the other end") -> None:
        super().__init__(f"channel to {peer}: {why}")
        self.peer, self.why = peer, why


class Unreachable(NetError):
    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"cannot reach {address}: {why}")
        self.address, self.why = address, why


class PieceUnavailable(NetError):
    def __init__(self, sha256: str, tried: int) -> None:
        super().__init__(f"none of {tried} holders gave piece {sha256[:12]}; trying again later may help")
        self.sha256, self.tried = sha256, tried


class RoundError(TrainerError):
    remedy = Remedy.RETRY


class RoundAborted(RoundError):
    def __init__(self, step: int, term: int, why: str) -> None:
        super().__init__(f"round of step {step}, term {term} aborted: {why}")
        self.step, self.term, self.why = step, term, why


class RoundStuck(RoundError):
    """`evidence` against the suspects: slices or results that are missing, a channel that fails, wrong values."""

    def __init__(self, step: int, term: int, suspects: tuple[str, ...], evidence: str, why: str) -> None:
        names = ", ".join(suspect[:12] for suspect in suspects)
        super().__init__(f"round of step {step}, term {term} waits for {names}: {why}")
        self.step, self.term, self.suspects, self.evidence, self.why = step, term, suspects, evidence, why


class OutOfStep(RoundError):
    def __init__(self, have: int, asked: int) -> None:
        super().__init__(
            f"this peer stands at step {have}, the network at step {asked}: fetch the state again"
        )
        self.have, self.asked = have, asked


class NotFinite(RoundError):
    remedy = Remedy.STOP

    def __init__(self, step: int, what: str) -> None:
        super().__init__(f"{what} is not finite at step {step}; lower the learning rate or look at the data")
        self.step, self.what = step, what


class InputError(TrainerError):
    remedy = Remedy.FIX_INPUT


class SettingInvalid(InputError):
    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name, self.why = name, why


class HomeInUse(InputError):
    def __init__(self, home: str) -> None:
        super().__init__(
            f"another process already uses this home ({home}); use another --home, or end that one"
        )
        self.home = home


class EnrolmentRefused(InputError):
    def __init__(self, why: str) -> None:
        super().__init__(f"the market does not enrol this peer: {why}")
        self.why = why


class ReleaseInvalid(InputError):
    def __init__(self, release: str, why: str) -> None:
        super().__init__(f"release {release}: {why}")
        self.release, self.why = release, why


class NotEnrolled(InputError):
    def __init__(self, home: str) -> None:
        super().__init__(
            f"{home} holds no enrolment: get a one-time code on the portal's network page and pass --code CODE"
        )
        self.home = home


class MarketError(TrainerError):
    pass


class MarketUnreachable(MarketError):
    remedy = Remedy.RETRY

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"market at {url}: {why}")
        self.url, self.why = url, why


class MarketRefused(MarketError):
    remedy = Remedy.FIX_INPUT

    """`said`: the market's own words, without the fields that they repeat."""

    def __init__(self, url: str, status: int, code: str, said: str) -> None:
        super().__init__(f"market refused {url} ({status} {code}): {said}")
        self.url, self.status, self.code, self.said = url, status, code, said
