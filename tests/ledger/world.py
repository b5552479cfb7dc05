"""A small world for the ledger's tests: a chain in memory, a sender and an indexer on a clock that the test moves."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from ledger import service
from ledger.chain.fake import FakeChain
from ledger.indexer import Indexer
from ledger.sender import Pace, Sender

HYD = 10**9
ADA, BOB, CAY = "user:ada", "user:bob", "user:cay"
CAMPAIGN, OTHER = "campaign:one", "campaign:two"
JOB = "job:one"
START = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass
class World:
    """Embedded by default: final is what `checkpoint` made durable."""

    chain: FakeChain = field(default_factory=lambda: FakeChain(is_embedded=True))
    confirmations: int = 0
    now: datetime = field(default_factory=lambda: timezone.now() + timedelta(seconds=5))

    def __post_init__(self) -> None:
        self.sender = Sender(self.chain, "test", Pace())
        self.indexer = Indexer(self.chain, self.confirmations)

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def send(self, *, after_s: float = 6) -> int:
        self.wait(after_s)
        return self.sender.step(self.now)

    def index(self) -> int:
        return self.indexer.step(self.now)

    def settle(self, rounds: int = 3) -> None:
        """Everything that is queued is sent, mined, checkpointed and read. Never before it was asked for: the door
        reads the real clock, and a slow machine can overtake ours."""
        self.now = max(self.now, timezone.now())
        for _ in range(rounds):
            self.send()
            self.chain.checkpoint()
            self.index()

    def status(self, key: str) -> str:
        return service.rewards([key])[key].status


def reward(
    key: str = "r1", user: str = ADA, amount: int = 10 * HYD, campaign: str = CAMPAIGN
) -> service.RewardEntry:
    return service.reserve_reward(
        service.RewardRequest(
            key=key,
            campaign_ref=campaign,
            beneficiary_ref=user,
            contribution_ref=f"item:{key}",
            amount=amount,
            evidence_hash=bytes(32),
            policy_version="1",
        )
    )


def rich(world: World, user: str = ADA, amount: int = 100 * HYD) -> None:
    """Gives a user settled credits."""
    service.fund_campaign(CAMPAIGN, 10**6 * HYD, key="fund")
    reward("rich", user, amount)
    world.settle()
    service.unlock_credits(user, amount, key="rich")
    world.settle()
