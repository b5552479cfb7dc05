"""A queued submission becomes verdicts: prepared item by item, compared as a whole, judged in one transaction.

Safe to run twice and to be killed anywhere: the lease admits one worker, prepared batches are kept, and the verdicts
of a submission, their evidence and their rewards appear together or not at all.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from marketplace.intake import SandboxUnavailable
from marketplace.models import Campaign, Evidence, Item, Submission, Verdict
from marketplace.models.writing import insert_rows, uncollected
from marketplace.rules import admission
from marketplace.rules.admission import Context
from marketplace.selectors.campaigns import attribute_rows
from marketplace.services import comparing
from marketplace.services.comparing import Known
from marketplace.services.findings import evidence_row, signs_of
from marketplace.services.judging import Ruling, apply_rulings
from marketplace.services.lease import Lease, LeaseLost, Stopwatch
from marketplace.services.preparing import findings_of, prepare
from marketplace.validators import association, coverage, marginal
from marketplace.validators.finding import Finding

log = logging.getLogger("marketplace.validation")
SLOW_ITEMS_PER_S = (
    50  # what each check of a whole submission manages at worst; the lease is extended accordingly
)


def validate_submission(submission_id: int, *, now: Callable[[], datetime] = timezone.now) -> bool:
    """Validates a queued submission. Returns: whether this call judged it.

    What is not queued, is another worker's, or cannot be decoded at the moment is left for later.
    """
    lease = Lease.take(submission_id, now=now)
    if lease is None:
        return False
    watch = Stopwatch(lease.submission.timings)
    try:
        _judge(lease, prepare(lease, watch), watch, now)
    except LeaseLost:
        log.info("submission %s was taken over by another worker", submission_id)
        return False
    except SandboxUnavailable as error:
        log.warning("submission %s waits: %s", submission_id, error)
        lease.give_up("Waiting for the decoder")
        return False
    except Exception:
        # The row says what to do; the beat tries again when the lease has run out, and the operator reads the log.
        log.exception("validation of submission %s failed", submission_id)
        raise
    return True


@dataclass(frozen=True)
class Findings:
    """What was said of the labels, by the item's primary key and as a whole, and of the submission's balance."""

    labels: Mapping[int, Finding]
    submission: Finding
    balance: list[Finding]


@dataclass
class Bench:
    """What a submission's items are compared with; `twins` has one duplicate finding for each sound item."""

    campaign: Campaign
    sound: list[Item]
    index: Any
    keys: dict[str, int]  # public id → primary key, of the items and of what they are compared with
    twins: list[Finding]

    def compare(self) -> None:
        share = admission.fill_policy(self.campaign.policy)["copied_rows_share"]
        self.twins = comparing.find_duplicates(self.campaign, self.index, self.sound, copied_share=share)

    def learn_late(self, late: Sequence[Known]) -> None:
        """Compares again with what another worker accepted while this one was at work."""
        unknown = [item for item in late if str(item.public_id) not in self.keys]
        for item in unknown:
            self.index.add(comparing.record_of(item))
            self.keys[str(item.public_id)] = item.pk
        if unknown:
            self.compare()


def _judge(lease: Lease, prepared: Sequence[Item], watch: Stopwatch, now: Callable[[], datetime]) -> None:
    submission, started = lease.submission, now()
    with watch.part("database"):
        lease.renew("Comparing with what is there", ahead_s=len(prepared) / SLOW_ITEMS_PER_S)
        pending = set(submission.items.filter(state=Item.State.PENDING).values_list("pk", flat=True))
        items = [item for item in prepared if item.pk in pending]
        for item in items:
            item.contributor = submission.contributor
        known = comparing.load_known(comparing.known_items(submission))
    with watch.part("hash"):
        bench = _bench(submission.campaign, items, known)
    fresh = [item for item, twin in zip(bench.sound, bench.twins, strict=True) if not _is_settled(item, twin)]
    lease.renew("Checking labels", ahead_s=len(fresh) / SLOW_ITEMS_PER_S)
    with watch.part("model"):
        report = comparing.check_labels(submission.campaign, fresh, known)
        balance = _balance(submission.campaign, fresh)
    labels = {item.pk: finding for item, finding in zip(fresh, report.items, strict=True)}
    findings = Findings(labels, report.submission, balance)
    lease.renew("Writing verdicts", ahead_s=len(items) / SLOW_ITEMS_PER_S)
    with watch.part("database"), uncollected():
        _write(lease, items, bench, findings, started, now)
    Submission.objects.filter(pk=submission.pk).update(timings=watch.rounded())


def _bench(campaign: Campaign, items: Sequence[Item], known: Sequence[Known]) -> Bench:
    sound = [item for item in items if admission.DECODING not in item.measures]
    keys = {str(one.public_id): one.pk for group in (known, items) for one in group}
    bench = Bench(campaign, sound, comparing.index_of(campaign, known), keys, [])
    bench.compare()
    return bench


def _is_settled(item: Item, twin: Finding) -> bool:
    """Whether the item is refused whatever its label: it would only teach the label check the same thing twice."""
    return item.measures.get("technical", {}).get("outcome") == "bad" or twin.outcome == "bad"


def _balance(campaign: Campaign, fresh: Sequence[Item]) -> list[Finding]:
    """What this submission does to the balance of the declared attributes."""
    if not campaign.attributes:
        return []
    return marginal.inspect(
        attribute_rows(campaign), [item.attributes for item in fresh], campaign.attributes
    )


def _write(
    lease: Lease,
    items: Sequence[Item],
    bench: Bench,
    findings: Findings,
    started: datetime,
    now: Callable[[], datetime],
) -> None:
    """Everything that a validation leaves, in one transaction that only the lease's holder can commit.

    The campaign's row is held, so that of two submissions with the same content one sees the other's acceptance.
    """
    submission = lease.submission
    with transaction.atomic():
        campaign = Campaign.objects.select_for_update().get(pk=submission.campaign_id)
        lease.close()
        late = comparing.known_items(submission).filter(state=Item.State.ACCEPTED, decided_at__gte=started)
        bench.learn_late(comparing.load_known(late))
        evidence = _save_evidence(submission, items, bench, findings)
        rulings = _rulings(items, evidence, _context(campaign, findings), bench.keys)
        apply_rulings(campaign, rulings, evidence, now=now())
        _save_balance(campaign)


def _save_evidence(
    submission: Submission, items: Sequence[Item], bench: Bench, findings: Findings
) -> dict[int, list[Evidence]]:
    twins = {item.pk: twin for item, twin in zip(bench.sound, bench.twins, strict=True)}
    rejected = comparing.find_rejections(bench.campaign, bench.sound)
    evidence: dict[int, list[Evidence]] = {}
    for item in items:
        compared = [found[item.pk] for found in (twins, rejected, findings.labels) if item.pk in found]
        inputs = item.content_sha256 or item.original_sha256
        evidence[item.pk] = [
            evidence_row(item, one, input_sha256=inputs) for one in [*findings_of(item), *compared]
        ]
    about = [evidence_row(submission, one) for one in [findings.submission, *findings.balance]]
    rows = [*(row for each in evidence.values() for row in each), *about]
    insert_rows(rows)
    return evidence


def _context(campaign: Campaign, findings: Findings) -> Context:
    """What the policy knows beyond an item: whether the labels of the whole submission are in doubt."""
    policy = admission.fill_policy(campaign.policy)
    about = findings.submission
    return Context(policy, admission.doubt_submission(about.outcome, about.data, policy))


def _rulings(
    items: Sequence[Item],
    evidence: Mapping[int, list[Evidence]],
    context: Context,
    keys: Mapping[str, int],
) -> list[Ruling]:
    """The policy's outcomes, in order; labels that nothing could check are accepted up to the policy's limit."""
    signs = {item.pk: signs_of(evidence[item.pk]) for item in items}
    unchecked = {key for key, said in signs.items() if admission.is_unchecked(said)}
    left = context.policy["cold_start_limit"] - _accepted_unchecked(items[0].campaign_id) if unchecked else 0
    rulings = []
    for item in items:
        decided = admission.admit(signs[item.pk], replace(context, cold_start_open=left > 0))
        if item.pk in unchecked and decided.outcome == Verdict.Outcome.ACCEPTED:
            left -= 1
        rulings.append(Ruling(item, decided.outcome, decided.reason, None, _twin(evidence[item.pk], keys)))
    return rulings


def _accepted_unchecked(campaign_id: int) -> int:
    rows = Evidence.objects.filter(
        validator="labels", outcome="not_enough_evidence", item__campaign_id=campaign_id
    )
    return rows.filter(item__state=Item.State.ACCEPTED).count()


def _twin(evidence: Sequence[Evidence], keys: Mapping[str, int]) -> int | None:
    """What the item repeats or nearly repeats: shown beside it, and kept on its side of a release's split."""
    named = [row.data.get("of") for row in evidence if row.validator == "duplicates"]
    return keys.get(str(named[-1])) if named and named[-1] else None


def _save_balance(campaign: Campaign) -> None:
    """Coverage and association of the campaign as it now stands: what the next sponsor's page shows."""
    if not campaign.attributes:
        return
    accepted = campaign.items.filter(state=Item.State.ACCEPTED).order_by("pk")
    rows = list(accepted.values_list("attributes", "label"))
    groups, names = [row[0] for row in rows], [row[1] for row in rows]
    found = [
        *coverage.inspect(groups, campaign.attributes),
        *association.inspect(groups, names, campaign.attributes),
    ]
    Evidence.objects.bulk_create([evidence_row(campaign, one) for one in found])
