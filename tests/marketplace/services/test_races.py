"""The same moment: threads on real connections to the real database (S12, S13)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections

from ledger import service as ledger
from marketplace.errors import Conflict, MarketError
from marketplace.models import Campaign, Item, Release, Submission, Verdict
from marketplace.services import releases
from marketplace.services.moderation import decide
from marketplace.services.network import EnrolmentRequest, enrol, issue_enrolment_code
from marketplace.services.submissions import ReceivedFile, receive_file, start_submission
from marketplace.services.validation import validate_submission
from tests.marketplace.services.test_network import key
from tests.marketplace.world import (
    HYD,
    accepted_items,
    judge,
    make_campaign,
    make_user,
    picture,
    review_item,
    send,
    states,
)

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*acts: Callable[[], object]) -> list[object]:
    """What each of the acts returns or raises, all started together."""
    barrier = Barrier(len(acts))

    def run(act: Callable[[], object]) -> object:
        try:
            barrier.wait(timeout=10)
            return act()
        except MarketError as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


@pytest.fixture
def campaign(transactional_db) -> Campaign:
    return make_campaign(make_user("ada", "sponsor"), "shapes", image_channels=1, image_min_side=28)


@pytest.fixture
def item(campaign) -> Item:
    return review_item(campaign, make_user("ben"))


def test_eight_names_for_the_same_bytes_make_one_item_and_seven_duplicates(campaign):
    ben = make_user("ben")
    submission = start_submission(campaign, ben, consent_version=1)
    content = picture("ring", 1)
    answers = at_once(
        *[
            lambda n=n: receive_file(
                submission, ReceivedFile(f"{n}.png", content=content, label="ring"), by=ben
            )
            for n in range(8)
        ]
    )
    assert all(isinstance(answer, list) for answer in answers), answers
    assert states(submission) == {"pending": 1, "duplicate": 7}
    kept = submission.items.get(state="pending")
    assert set(submission.items.filter(state="duplicate").values_list("duplicate_of", flat=True)) == {kept.pk}
    assert sorted(submission.items.values_list("position", flat=True)) == list(range(8))


def test_after_its_rejection_the_same_file_may_be_accepted_by_a_person(campaign):
    ben, cleo = make_user("ben"), make_user("cleo", "moderate")
    first = judge(send(campaign, ben, picture("ring", 1), "a.png", label="ring")).items.get()
    decide(first, moderator=cleo, outcome="rejected", reason="Blurred.")
    again = judge(send(campaign, ben, picture("ring", 1), "a.png", label="ring")).items.get()
    assert (first.state, again.state) == ("accepted", "pending")  # `first` as it was loaded
    decide(again, moderator=cleo, outcome="accepted", reason="Sharp enough after all.")
    again.refresh_from_db()
    assert again.state == "accepted"
    assert Item.objects.get(pk=first.pk).state == "rejected"
    assert ledger.campaign_budget(campaign.ledger_ref).reserved == again.reward


def test_files_of_several_submissions_meet_in_any_order(campaign):
    people = [make_user(f"p{n}") for n in range(4)]
    started = [start_submission(campaign, one, consent_version=1) for one in people]
    rings = [(f"ring/{n}.png", picture("ring", n)) for n in range(12)]
    from tests.marketplace.world import zipped

    archives = [zipped(dict(rings[turn:] + rings[:turn])) for turn in (0, 3, 6, 9)]
    answers = at_once(
        *[
            lambda s=s, a=a: receive_file(s, ReceivedFile("s.zip", content=a), by=s.contributor)
            for s, a in zip(started, archives, strict=True)
        ]
    )
    assert all(isinstance(answer, list) for answer in answers), answers
    assert Item.objects.filter(state="pending").count() == 12
    assert Item.objects.filter(state="duplicate").count() == 36


def test_two_moderators_at_once_decide_once(campaign, item):
    moderators = [make_user(name, "moderate") for name in ("cleo", "max")]
    seen = [Item.objects.get(pk=item.pk) for _ in moderators]
    answers = at_once(
        *[
            lambda i=i, m=m, o=o: decide(i, moderator=m, outcome=o, reason="So it is.")
            for i, m, o in zip(seen, moderators, ("accepted", "rejected"), strict=True)
        ]
    )
    assert sorted(isinstance(answer, Conflict) for answer in answers) == [False, True]
    verdict = Verdict.objects.get()
    item.refresh_from_db()
    assert item.state == verdict.outcome
    reserved = ledger.campaign_budget(campaign.ledger_ref).reserved
    assert reserved == (HYD if verdict.outcome == "accepted" else 0)


def test_a_retry_with_the_same_key_gets_the_same_verdict(campaign, item):
    cleo = make_user("cleo", "moderate")
    answers = at_once(
        *[
            lambda: decide(
                Item.objects.get(pk=item.pk), moderator=cleo, outcome="accepted", reason="Yes.", idempotency_key="k",
                seen="pending",
            )
            for _ in range(4)
        ]
    )  # fmt: skip
    assert answers == [Verdict.objects.get()] * 4
    assert ledger.campaign_budget(campaign.ledger_ref).reserved == HYD


def test_two_workers_judge_a_submission_once(campaign):
    submission = send(campaign, make_user("ben"), picture("ring", 1), "a.png", label="ring")
    answers = at_once(*[lambda: validate_submission(submission.pk)] * 2)
    assert sorted(answers) == [False, True]
    assert Submission.objects.get(pk=submission.pk).state == "judged"
    assert Verdict.objects.count() == 1


def test_one_code_enrols_one_peer(campaign):
    code, _ = issue_enrolment_code(make_user("vera"))
    answers = at_once(*[lambda n=n: enrol(EnrolmentRequest(code, key(n), "laptop")) for n in (1, 2, 3)])
    assert sum(not isinstance(answer, MarketError) for answer in answers) == 1


def test_two_releases_at_once_take_two_numbers(campaign):
    accepted_items(campaign, make_user("ben"), 2)
    at_once(*[lambda: releases.build_release(campaign, by=campaign.owner)] * 3)
    assert sorted(Release.objects.values_list("version", flat=True)) == [1, 2, 3]
