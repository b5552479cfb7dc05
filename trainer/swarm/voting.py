"""Whether a round commits, aborts or waits, and who is to blame: a pure function of what has been heard so far."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trainer.wire.messages import Accuse, Done, Plan, Unfit

ACCUSE_GRACE_S = (
    0.5  # others may accuse the same peer: judging one accusation alone would blame the wrong end
)


@dataclass
class Ballot:
    """What the backbone has heard about one round. Times are monotonic seconds."""

    plan: Plan
    me: str
    started: float
    own_digest: str | None = None
    done: dict[str, Done] = field(default_factory=dict)
    accused: dict[str, Accuse] = field(default_factory=dict)
    unfit: dict[str, Unfit] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    missing_owners: tuple[str, ...] = ()  # whose spans have not reached the backbone
    first_accused: float | None = None

    @property
    def members(self) -> list[str]:
        return [member.peer_id for member in self.plan.members]

    @property
    def watchers(self) -> list[str]:
        """Watchers that still matter: neither the backbone itself nor gone."""
        ids = [watcher.peer_id for watcher in self.plan.watchers]
        return [peer for peer in ids if peer != self.me and peer not in self.gone]


@dataclass(frozen=True)
class Waiting:
    """Nothing to decide before `until`, unless something is heard."""

    until: float


@dataclass(frozen=True)
class Committed:
    digest: str


@dataclass(frozen=True)
class Aborted:
    """`failed` take no part in the next term; `diverged` of them could not get a finite number."""

    failed: frozenset[str]
    reason: str
    diverged: frozenset[str] = frozenset()


Decision = Waiting | Committed | Aborted


def decide(ballot: Ballot, now: float) -> Decision:
    """Commit once every member and every live watcher holds the backbone's result; abort as soon as that cannot be.

    A member that died after it was done keeps its share in the round: all others hold the result with it.
    """
    if ballot.own_digest is not None:
        other = {peer for peer, done in ballot.done.items() if done.digest != ballot.own_digest}
        if other:
            return Aborted(frozenset(other), "peers hold another result than the backbone")
        if all(peer in ballot.done for peer in ballot.members + ballot.watchers):
            return Committed(ballot.own_digest)
    lost = {peer for peer in ballot.members if peer in ballot.gone and peer not in ballot.done}
    if lost or (ballot.own_digest is None and ballot.gone & set(ballot.missing_owners)):
        return Aborted(frozenset(lost | (ballot.gone & set(ballot.members))), "peers are gone")
    if ballot.unfit:
        diverged = frozenset(peer for peer, unfit in ballot.unfit.items() if unfit.cause == "not-finite")
        return Aborted(frozenset(ballot.unfit), next(iter(ballot.unfit.values())).reason, diverged)
    return _judge_time(ballot, now)


def _judge_time(ballot: Ballot, now: float) -> Decision:
    deadline = ballot.started + ballot.plan.limit_s + 2 * ACCUSE_GRACE_S
    if ballot.first_accused is not None:
        judged = ballot.first_accused + ACCUSE_GRACE_S
        if now < judged:
            return Waiting(judged)
        reason = next(iter(ballot.accused.values())).reason
        return Aborted(find_culprits(weigh_accusations(ballot.accused)), reason)
    if now < deadline:
        return Waiting(deadline)
    silent = {peer for peer in ballot.members + ballot.watchers if peer not in ballot.done}
    return Aborted(frozenset(silent or ballot.missing_owners), "no result in the time allowed")


def weigh_accusations(accused: Mapping[str, Accuse]) -> list[tuple[str, str]]:
    """(accuser, suspect) pairs worth judging. Who waits for somebody itself is not to blame for a late result.

    When everybody waits for everybody's result, no excuse is left and all pairs count.
    """
    pairs = [(by, suspect, accuse) for by, accuse in accused.items() for suspect in accuse.suspects]
    sound = [
        (by, suspect)
        for by, suspect, accuse in pairs
        if accuse.evidence != "results" or suspect not in accused
    ]
    return sound or [(by, suspect) for by, suspect, _ in pairs]


def find_culprits(pairs: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The fewest peers that explain all (accuser, suspect) pairs, found greedily; a tie blames the suspect.

    A broken link has two ends: the peer with most broken links goes first, until no pair is left to explain.
    """
    left, culprits = set(pairs), set()
    while left:
        links: dict[str, set[str]] = {}
        for by, suspect in left:
            links.setdefault(by, set()).add(suspect)
            links.setdefault(suspect, set()).add(by)
        suspects = {suspect for _, suspect in left}
        worst = max(links, key=lambda peer: (len(links[peer]), peer in suspects, peer))
        culprits.add(worst)
        left = {pair for pair in left if worst not in pair}
    return frozenset(culprits)
