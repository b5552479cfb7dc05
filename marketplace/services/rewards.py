"""Rewards after their reservation: news from the ledger, acceptances that waited for money, tokens into credits."""

from collections import defaultdict

from django.db import transaction
from django.utils import timezone

from ledger import service as ledger
from ledger.service import Settlement, Unlock
from marketplace.errors import InvalidInput
from marketplace.models import Campaign, Evidence, Item, Progress, User, Verdict
from marketplace.rules.admission import BUDGET_EXHAUSTED
from marketplace.services.books import translated
from marketplace.services.judging import Ruling, apply_rulings
from marketplace.services.queue import enqueue

NEWS = "ledger-settlements"
SHOWN = {"settled": "settled", "reverted": "reverted", "unconfirmed": "reserved", "cancelled": "cancelled"}
WAITING_BATCH = 500


def unlock(user: User, amount: int, *, key: str) -> Unlock:
    """Turns available tokens into credits, once per key. Raises: FundsShort, InvalidInput, KeyReused, Unavailable."""
    if isinstance(amount, bool) or not isinstance(amount, int) or amount <= 0:
        raise InvalidInput("The amount must be positive.", fields={"amount_nano": "a whole number above 0"})
    with transaction.atomic(), translated():
        return ledger.unlock_credits(user.ledger_ref, amount, key=f"unlock:{user.public_id}:{key}")


def apply_settlements(*, limit: int = 500) -> int:
    """Takes over the ledger's news up to its end; two readers at once do no harm.

    Returns: how many lines were applied. Each step moves the cursor by compare-and-set in the transaction that
    applies its lines, so that a crash repeats nothing and skips nothing.
    """
    applied = 0
    while True:
        with transaction.atomic():
            progress, _ = Progress.objects.get_or_create(name=NEWS)
            news, cursor = ledger.settlements_since(progress.cursor, limit)
            if not news:
                return applied
            moved = Progress.objects.filter(pk=progress.pk, cursor=progress.cursor).update(cursor=cursor)
            if not moved:
                return applied
            _apply(news)
        applied += len(news)


def _apply(news: list[Settlement]) -> None:
    by_status: dict[str, list[str]] = defaultdict(list)
    for key, status in {one.key: one.status for one in news if one.kind == "reward"}.items():
        by_status[SHOWN.get(status, status)[:10]].append(key)
    for status, keys in by_status.items():
        ids = [key.split(":")[1] for key in keys if key.startswith("reward:")]
        Item.objects.filter(public_id__in=ids, reward_key__in=keys).update(reward_status=status)


def accept_waiting(campaign_id: int) -> int:
    """Accepts, in the order of arrival, what passed but found the budget exhausted, as far as the budget now goes.

    Returns: how many were accepted.
    """
    with transaction.atomic():
        campaign = Campaign.objects.select_for_update().get(pk=campaign_id)
        if ledger.campaign_budget(campaign.ledger_ref).remaining <= 0:
            return 0
        waiting = list(
            Item.objects.select_for_update(of=("self",))
            .filter(campaign=campaign, state=Item.State.PENDING, needs_review=True, reason=BUDGET_EXHAUSTED)
            .select_related("contributor")
            .order_by("pk")[:WAITING_BATCH]
        )
        if not waiting:
            return 0
        rulings = [
            Ruling(item, Verdict.Outcome.ACCEPTED, "Passed the checks; the budget now covers it.")
            for item in waiting
        ]
        apply_rulings(campaign, rulings, load_evidence(waiting), now=timezone.now())
        accepted = sum(item.state == Item.State.ACCEPTED for item in waiting)
        if accepted == WAITING_BATCH:
            enqueue("accept_waiting", campaign_id)
        return accepted


def load_evidence(items: list[Item]) -> dict[int, list[Evidence]]:
    """The stored evidence of each item, oldest first, without earlier receipts."""
    found: dict[int, list[Evidence]] = defaultdict(list)
    keys = [item.pk for item in items]
    for start in range(0, len(keys), 500):
        rows = (
            Evidence.objects.filter(item__in=keys[start : start + 500])
            .exclude(validator="reward")
            .order_by("pk")
        )
        for row in rows:
            found[row.item_id].append(row)  # type: ignore[index]
    return found
