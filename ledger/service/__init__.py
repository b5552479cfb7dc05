"""The only door to the ledger. What writes runs inside the caller's transaction; nothing here waits for a chain."""

from ledger.service.bulk import reserve_rewards
from ledger.service.credits import escrow, lock_credits, release_job, settle_job, unlock_credits
from ledger.service.reading import balances, network_status, settlements_since, statement, totals
from ledger.service.results import (
    Balances,
    Budget,
    ChainStatus,
    Escrow,
    LedgerTotals,
    RewardEntry,
    RewardProof,
    RewardRequest,
    Settlement,
    StatementLine,
    Unlock,
)
from ledger.service.rewards import (
    campaign_budget,
    cancel_reward,
    fund_campaign,
    reserve_reward,
    reward_proof,
    rewards,
)

__all__ = [
    "Balances",
    "Budget",
    "ChainStatus",
    "Escrow",
    "LedgerTotals",
    "RewardEntry",
    "RewardProof",
    "RewardRequest",
    "Settlement",
    "StatementLine",
    "Unlock",
    "balances",
    "campaign_budget",
    "cancel_reward",
    "escrow",
    "fund_campaign",
    "lock_credits",
    "network_status",
    "release_job",
    "reserve_reward",
    "reserve_rewards",
    "reward_proof",
    "rewards",
    "settle_job",
    "settlements_since",
    "statement",
    "totals",
    "unlock_credits",
]
