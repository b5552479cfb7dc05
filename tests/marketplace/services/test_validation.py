"""From a queued submission to verdicts: the equation holds, flags go to people, nothing is done twice."""

import hashlib
import json
import threading
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from marketplace.intake import SandboxUnavailable
from marketplace.models import Evidence, Item, Submission
from marketplace.rules.admission import BUDGET_EXHAUSTED
from marketplace.rules.evidence import Statement
from marketplace.selectors.moderation import queue
from marketplace.selectors.submissions import count
from marketplace.services import preparing, recovery, storage, validation
from marketplace.services.findings import statement_of
from marketplace.services.lease import Lease, LeaseLost
from marketplace.services.moderation import decide
from marketplace.services.validation import validate_submission
from tests.marketplace.world import (
    HYD,
    budget_of,
    judge,
    make_campaign,
    picture,
    pictures,
    review_item,
    send,
    states,
    zipped,
)


@pytest.fixture
def judged(shapes, ben) -> Submission:
    """Sixty honest pictures, judged: what later submissions are compared with."""
    return judge(send(shapes, ben, pictures(range(60))))


def test_honest_pictures_are_accepted_and_paid(judged, shapes):
    assert states(judged)["accepted"] >= 55
    assert count(judged).holds
    assert (judged.state, judged.stage) == ("judged", "") and judged.judged_at is not None
    assert budget_of(shapes).reserved == sum(judged.items.values_list("reward", flat=True)) > 50 * HYD
    assert set(judged.timings) == {"decode", "hash", "embed", "model", "database"}
    item = judged.items.filter(state="accepted").first()
    assert {row.validator for row in item.evidence.all()} >= {
        "technical_image",
        "duplicates",
        "labels",
        "reward",
    }
    assert item.verdicts.get().moderator is None


def test_what_a_moderator_rejected_comes_first_in_the_queue_when_it_is_sent_again(
    judged, shapes, ben, vera, cleo
):
    old = judged.items.filter(state="accepted", label="cross").first()
    decide(old, moderator=cleo, outcome="rejected", reason="Drawn by a machine.")
    content, twin = storage.read(old.original_key), judged.items.filter(state="accepted").last()
    doubtful = review_item(shapes, vera)
    again = judge(send(shapes, vera, content, "again.png", label="cross")).items.get()
    assert (again.state, again.needs_review) == ("pending", True)
    assert again.reason.startswith("The same content was rejected before: Drawn by a machine.")
    assert again.evidence.get(validator="history").reasons == [
        "The same content was rejected before: Drawn by a machine."
    ]
    assert list(queue(cleo))[:2] == [again, doubtful]
    assert not Evidence.objects.filter(validator="history", item=twin).exists()
    decide(again, moderator=cleo, outcome="accepted", reason="Seen again: it is by hand.")
    again.refresh_from_db()
    assert again.state == "accepted"


def test_a_rejection_is_told_under_another_label_too(judged, shapes, vera, cleo):
    old = judged.items.filter(state="accepted", label="cross").first()
    decide(old, moderator=cleo, outcome="rejected", reason="This is a ring.")
    content = storage.read(old.original_key)
    other = judge(send(shapes, vera, content, "other.png", label="ring")).items.get()
    assert other.needs_review
    assert other.reason.startswith("The same content was rejected before as “cross”: This is a ring.")


def test_served_copies_are_reencoded_and_originals_kept(judged):
    item = judged.items.filter(state="accepted").first()
    assert storage.read(item.served_key).startswith(b"\x89PNG")
    assert (item.width, item.height) == (28, 28)
    assert hashlib.sha256(storage.read(item.original_key)).hexdigest() == item.original_sha256


def test_digests_are_over_what_is_stored(judged):
    for row in Evidence.objects.filter(item__submission=judged).select_related("item")[:50]:
        statement = statement_of(row, f"item:{row.item.public_id}")
        assert statement.digest() == row.digest
        stored = json.loads(json.dumps(statement.as_json()))
        assert Statement(**{**stored, "reasons": tuple(stored["reasons"])}).digest() == row.digest


def test_wrong_labels_go_to_people_and_are_never_rejected(judged, shapes, vera):
    wrong = [101, 107, 112, 118]
    submission = judge(send(shapes, vera, pictures(range(100, 140), wrong=wrong)))
    by_name = {item.name: item for item in submission.items.all()}
    suspects = {item.name for item in by_name.values() if item.needs_review}
    hit = {name for name in suspects if int(name.split("/")[-1].removesuffix(".png")) in wrong}
    assert len(hit) >= 3 and len(suspects) <= 8
    assert not submission.items.filter(state="rejected").exists()
    assert all(by_name[name].reason for name in suspects)


def test_a_submission_of_wrong_labels_waits_as_a_whole(judged, shapes, vera):
    numbers = range(200, 230)
    submission = judge(send(shapes, vera, pictures(numbers, wrong=numbers)))
    assert states(submission) == {"pending": 30}
    assert submission.items.filter(needs_review=True).count() == 30
    assert "labels of this submission" in submission.items.first().reason


def test_few_bad_among_many_cost_only_themselves(shapes, ben):
    good = {f"ring/{n}.png": picture("ring", n) for n in range(9)}
    bad = {
        "ring/cut.jpg": picture("ring", 50, form="JPEG")[:-20], "ring/page.png": b"<html><script>1</script></html>",
        "ring/drawing.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>",
        "ring/small.png": picture("ring", 51, side=9),
        "ring/renamed.jpg": picture("ring", 52),
    }  # fmt: skip
    submission = judge(send(shapes, ben, zipped({**good, **bad})))
    reasons = dict(submission.items.filter(state="rejected").values_list("name", "reason"))
    assert {"ring/page.png", "ring/drawing.svg", "ring/small.png", "ring/cut.jpg"} <= reasons.keys()
    assert len(set(reasons.values())) == len(reasons)
    counts = count(submission)
    assert counts.holds and counts.received == 14 and counts.accepted >= 9
    assert (
        not submission.items.filter(state="rejected", served_key__gt="")
        .exclude(name="ring/small.png")
        .exists()
    )


def test_copies_of_accepted_pictures_are_found(judged, shapes, vera):
    first = judged.items.filter(state="accepted", label="ring").first()
    number = int(first.name.split("/")[-1].removesuffix(".png"))
    bmp = picture("ring", number, form="BMP")  # the same pixels in another container
    submission = judge(
        send(shapes, vera, zipped({"ring/copy.bmp": bmp, "ring/new.png": picture("ring", 900)}))
    )
    copy = submission.items.get(name="ring/copy.bmp")
    assert (copy.state, copy.duplicate_of, copy.reward) == ("duplicate", first, 0)
    assert submission.items.get(name="ring/new.png").state == "accepted"


def test_a_single_picture_in_an_empty_campaign_is_accepted(shapes, ben):
    submission = judge(send(shapes, ben, picture("ring", 1), "a.png", label="ring"))
    item = submission.items.get()
    assert item.state == "accepted" and "not enough evidence" in item.reason


def test_the_cold_start_has_an_end(ada, ben):
    campaign = make_campaign(ada, "cold", image_channels=1, image_min_side=28, policy={"cold_start_limit": 2})
    members = {f"ring/{n}.png": picture("ring", n) for n in range(5)}
    assert states(judge(send(campaign, ben, zipped(members)))) == {"accepted": 2, "pending": 3}
    assert states(judge(send(campaign, ben, picture("ring", 9), "x.png", label="ring"))) == {"pending": 1}


def test_texts_are_judged_and_their_copies_found(notes, ben, vera):
    good = [f"What a wonderful day number {n}, everything went well and I am delighted." for n in range(6)]
    bad = [f"This was a terrible trip {n}; the food was awful and the room dirty." for n in range(6)]
    lines = [
        {"text": text, "label": label} for texts, label in ((good, "good"), (bad, "bad")) for text in texts
    ]
    table = "\n".join(json.dumps(line) for line in lines).encode()
    first = judge(send(notes, ben, table, "t.jsonl"))
    assert count(first).holds and states(first).get("rejected") is None
    again = judge(send(notes, vera, table, "again.jsonl"))
    assert states(again) == {"duplicate": 12} and budget_of(notes).reserved == sum(
        first.items.values_list("reward", flat=True)
    )


PEOPLE = {"modality": "tabular", "classes": ["y", "n"], "columns": [{"name": "age", "type": "number"}]}


def people(rows: range) -> bytes:
    return ("age,label\n" + "".join(f"{20 + n},{'yn'[n % 2]}\n" for n in rows)).encode()


def test_equal_rows_are_normal_but_a_copied_table_is_not(ada, ben, vera):
    campaign = make_campaign(ada, "people", **PEOPLE)
    assert states(judge(send(campaign, ben, people(range(20)), "a.csv"))) == {"accepted": 20}
    mostly_new = judge(send(campaign, vera, people(range(15, 40)), "b.csv"))
    assert states(mostly_new) == {"accepted": 25}
    copied = judge(send(campaign, vera, people(range(10, 30)) + b"99,y\n", "c.csv"))
    assert states(copied) == {"duplicate": 20, "accepted": 1}
    assert "20 of the 21 rows" in copied.items.filter(state="duplicate").first().reason


def test_scarcity_pays_more_for_the_missing_group(ada, ben, vera):
    sex = {"name": "sex", "values": ["f", "m"], "targets": {"f": 0.5, "m": 0.5}}
    campaign = make_campaign(ada, "people", **PEOPLE, attributes=[sex])
    judge(send(campaign, ben, people(range(30)), "m.csv", attributes={"sex": "m"}))
    mixed = "age,label,sex\n" + "".join(f"{60 + n},{'yn'[n % 2]},{'fm'[n % 2]}\n" for n in range(10))
    submission = judge(send(campaign, vera, mixed.encode(), "f.csv"))
    paid = Counter(dict.fromkeys("fm", 0))
    for item in submission.items.filter(state="accepted"):
        paid[item.attributes["sex"]] = max(paid[item.attributes["sex"]], item.reward)
    assert paid["f"] > HYD > paid["m"] > 0
    receipt = submission.items.filter(attributes__sex="f").first().evidence.get(validator="reward")
    assert "sex = f: 0%" in receipt.reasons[2]
    assert submission.evidence.filter(validator="marginal").exists()
    assert campaign.evidence.filter(validator="coverage").exists()


@pytest.mark.parametrize(
    "texts",
    [["all the same words here"] * 3, ["one and only text of its class here"], []],
    ids=["identical", "single", "none-usable"],
)
def test_not_enough_evidence_is_an_answer(ada, ben, texts):
    campaign = make_campaign(ada, "one", modality="text", classes=["only"])
    lines = [json.dumps({"text": f"{text} {n}", "label": "only"}) for n, text in enumerate(texts)]
    lines.append(json.dumps({"text": "", "label": "only"}))
    submission = judge(send(campaign, ben, "\n".join(lines).encode(), "t.jsonl"))
    assert states(submission)["rejected"] == 1  # the empty text, by receipt
    assert not submission.items.filter(state="rejected").exclude(text="").exists()
    assert submission.evidence.get(validator="labels").outcome == "not_enough_evidence"


def test_an_exhausted_budget_keeps_good_items_waiting_for_the_sponsor(ada, ben):
    campaign = make_campaign(ada, "poor", budget=3 * HYD, image_channels=1, image_min_side=28)
    members = {f"ring/{n}.png": picture("ring", n) for n in range(5)}
    submission = judge(send(campaign, ben, zipped(members)))
    assert states(submission) == {"accepted": 3, "pending": 2}
    assert submission.items.filter(state="pending", needs_review=True, reason=BUDGET_EXHAUSTED).count() == 2
    assert budget_of(campaign).remaining == 0


def test_validating_twice_does_it_once(judged, shapes):
    before = (budget_of(shapes).reserved, Evidence.objects.count(), judged.timings)
    assert not validate_submission(judged.pk)
    judged.refresh_from_db()
    assert (budget_of(shapes).reserved, Evidence.objects.count(), judged.timings) == before


def test_one_worker_holds_a_submission_until_it_is_stale(shapes, ben):
    submission = send(shapes, ben, picture("ring", 1), "a.png", label="ring")
    held = Lease.take(submission.pk)
    assert held is not None and Lease.take(submission.pk) is None
    assert not validate_submission(submission.pk)
    now = timezone.now()
    assert recovery.requeue_stale(now=now) == 0
    assert recovery.requeue_stale(now=now + timedelta(seconds=61)) >= 1
    assert judge(submission).state == "judged"
    with pytest.raises(LeaseLost):
        held.renew("still here")


def test_a_sign_of_life_within_a_step_is_given_every_few_seconds_only(shapes, ben):
    submission = send(shapes, ben, picture("ring", 1), "a.png", label="ring")
    clock = [timezone.now()]
    lease = Lease.take(submission.pk, now=lambda: clock[0])
    lease.renew("Measured 1 of 2")
    for seconds, moves in ((2, False), (2, True), (2, False)):
        clock[0] += timedelta(seconds=seconds)
        before = lease.submission.validating_since
        lease.beat()
        submission.refresh_from_db()
        assert (submission.validating_since > before) is moves
    assert submission.stage == "Measured 1 of 2"
    lease.renew("Checking labels", ahead_s=60)
    ahead = lease.submission.validating_since
    clock[0] += timedelta(seconds=30)
    lease.beat()
    assert lease.submission.validating_since == ahead  # a beat never takes back what was given ahead


def test_waiting_for_the_decoder_gives_signs_of_life(shapes, ben, monkeypatch):
    submission = send(shapes, ben, picture("ring", 1), "a.png", label="ring")
    decode, beaten = preparing.decode_images, threading.Event()
    waiting, beat = threading.Event(), Lease.beat

    def slow(*arguments):
        waiting.set()
        assert beaten.wait(10)
        return decode(*arguments)

    def heard(lease):
        beat(lease)
        if waiting.is_set():
            beaten.set()

    monkeypatch.setattr(preparing, "BEAT_S", 0.01)
    monkeypatch.setattr(preparing, "decode_images", slow)
    monkeypatch.setattr(Lease, "beat", heard)
    judge(submission)
    assert beaten.is_set() and count(submission).holds


def test_a_worker_that_lost_its_lease_writes_nothing(shapes, ben, monkeypatch):
    submission = send(shapes, ben, picture("ring", 1), "a.png", label="ring")
    check = validation.comparing.check_labels

    def take_over(*arguments):
        Submission.objects.filter(pk=submission.pk).update(validating_since=timezone.now())
        return check(*arguments)

    monkeypatch.setattr(validation.comparing, "check_labels", take_over)
    assert not validate_submission(submission.pk)
    assert not Evidence.objects.filter(item__submission=submission).exists()
    assert states(submission) == {"pending": 1} and budget_of(shapes).reserved == 0


class Killed(BaseException):
    """Stands for SIGKILL: nothing of ours catches it."""


@pytest.mark.parametrize(
    "stage", ["decode_images", "update_rows", "find_duplicates", "check_labels", "apply_rulings"]
)
def test_a_killed_validation_is_resumed_to_the_same_end(shapes, ben, monkeypatch, stage):
    submission = send(shapes, ben, pictures(range(12)))
    monkeypatch.setattr(preparing, "BATCH", dict.fromkeys(preparing.BATCH, 5))
    module = {"decode_images": preparing, "update_rows": preparing, "apply_rulings": validation}.get(
        stage, validation.comparing
    )
    real, calls = getattr(module, stage), []

    def dies_at_the_second(*arguments, **options):
        calls.append(stage)
        if len(calls) == (2 if module is preparing else 1):
            raise Killed
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, stage, dies_at_the_second)
        with pytest.raises(Killed):
            validate_submission(submission.pk)
    assert (
        budget_of(shapes).reserved == 0 and not Evidence.objects.filter(item__submission=submission).exists()
    )
    recovery.requeue_stale(now=timezone.now() + timedelta(minutes=10))
    judge(submission)
    assert count(submission).holds and not submission.items.filter(verdicts=None).exists()
    assert budget_of(shapes).reserved == sum(submission.items.values_list("reward", flat=True))


def test_prepared_batches_are_not_prepared_again(shapes, ben, monkeypatch):
    submission = send(shapes, ben, pictures(range(6)))
    lease = Lease.take(submission.pk)
    preparing.prepare(lease, validation.Stopwatch())
    lease.give_up("resting")
    monkeypatch.setattr(preparing, "decode_images", lambda *_: pytest.fail("decoded again"))
    judge(submission)


def test_the_next_batch_is_decoded_while_this_one_is_measured(shapes, ben, monkeypatch):
    submission = send(shapes, ben, pictures(range(6)))
    monkeypatch.setattr(preparing, "BATCH", dict.fromkeys(preparing.BATCH, 3))
    decode, inspect = preparing.decode_images, preparing.technical_image.inspect
    second, batches = threading.Event(), []

    def counted(*arguments):
        batches.append(len(arguments[0]))
        if len(batches) == 2:
            second.set()
        return decode(*arguments)

    def measured(*arguments, **options):
        assert second.wait(10)
        return inspect(*arguments, **options)

    monkeypatch.setattr(preparing, "decode_images", counted)
    monkeypatch.setattr(preparing.technical_image, "inspect", measured)
    judge(submission)
    assert batches == [3, 3] and count(submission).holds
    assert not submission.items.filter(measures={}).exists()


def test_a_missing_decoder_is_waited_for(shapes, ben, monkeypatch):
    submission = send(shapes, ben, picture("ring", 1), "a.png", label="ring")
    with monkeypatch.context() as patch:
        patch.setattr(preparing, "decode_images", _no_sandbox)
        assert not validate_submission(submission.pk)
    submission.refresh_from_db()
    assert (submission.state, states(submission)) == ("queued", {"pending": 1})
    assert judge(submission).state == "judged"


def _no_sandbox(*arguments):
    raise SandboxUnavailable("The decoding process cannot be started.")


def test_what_another_worker_accepted_meanwhile_is_seen(shapes, ben, vera, monkeypatch):
    mine = send(shapes, ben, picture("ring", 7), "a.png", label="ring")
    theirs = send(shapes, vera, picture("ring", 7, form="BMP"), "b.bmp", label="ring")
    check = validation.comparing.check_labels

    def meanwhile(*arguments):
        monkeypatch.setattr(validation.comparing, "check_labels", check)
        judge(theirs)
        return check(*arguments)

    monkeypatch.setattr(validation.comparing, "check_labels", meanwhile)
    judge(mine)
    kept = Item.objects.filter(campaign=shapes, state="accepted")
    assert (
        kept.count() == 1 and Item.objects.get(campaign=shapes, state="duplicate").duplicate_of == kept.get()
    )


def test_a_submission_without_anything_to_check_ends_too(shapes, ben):
    submission = judge(send(shapes, ben, zipped({"ring/.DS_Store": b"x"})))
    assert states(submission) == {"ignored": 1}


def test_lost_messages_are_found_again(shapes, ben):
    send(shapes, ben, picture("ring", 1), "a.png", label="ring")
    now = timezone.now()
    assert recovery.requeue_stale(now=now) == 0
    assert recovery.requeue_stale(now=now + timedelta(seconds=31)) == 1
