"""Jobs and metering: signed rounds are charged once, within the credits; what is settled sums to the last nano (S17)."""

import json

import pytest

from ledger import service as ledger
from marketplace.errors import FundsShort, InvalidInput, KeyReused, NotAllowed, NotFound, WrongState
from marketplace.models import Job, JobEarning, Peer, Release, User
from marketplace.selectors import jobs as selectors
from marketplace.services import jobs, releases, storage
from marketplace.services.jobs import JobDraft
from marketplace.services.network import retire_peer
from tests.ledger.world import World
from tests.marketplace.api.training import BATCH, SEED, STEPS, Volunteer, safetensors, signed_round
from tests.marketplace.world import HYD, accepted_items, make_user

SPEC_PRICE = 200_000  # nano a sample, text-hashed-bow
LIMIT = STEPS * BATCH * SPEC_PRICE

NESTED = (100_000).to_bytes(8, "little") + b"[" * 100_000  # deeper than a parser follows


@pytest.fixture
def world(db) -> World:
    return World()


@pytest.fixture
def release(notes, ben) -> Release:
    accepted_items(notes, ben, 40)
    made = releases.build_release(notes, by=notes.owner)
    releases.write_release(made.pk)
    return Release.objects.get(pk=made.pk)


def give_credits(world: World, user: User, amount: int = HYD) -> None:
    ledger.fund_campaign("campaign:grant", amount, key="grant")
    grant = ledger.RewardRequest(
        "grant", "campaign:grant", user.ledger_ref, "item:grant", amount, bytes(32), "1"
    )
    ledger.reserve_reward(grant)
    world.settle()
    ledger.unlock_credits(user.ledger_ref, amount, key="grant")
    world.settle()


def draft(release: Release, **changes) -> JobDraft:
    parameters = {"steps": STEPS, "batch_size": BATCH, **changes.pop("parameters", {})}
    return JobDraft(
        **{
            "release": release,
            "recipe": "text-hashed-bow",
            "parameters": parameters,
            "credit_limit": LIMIT,
            **changes,
        }
    )


@pytest.fixture
def job(world, ben, release) -> Job:
    """Ben's job, its credits locked, started."""
    give_credits(world, ben)
    made = jobs.create_job(ben, draft(release), key="k")
    world.settle()
    jobs.advance_jobs()
    return jobs.start_job(Job.objects.get(pk=made.pk))


@pytest.fixture
def volunteers(vera, eve) -> list[Volunteer]:
    return [Volunteer.of(vera, 1), Volunteer.of(eve, 2)]


def round_of(job: Job, step: int, volunteers: list[Volunteer], **changes) -> dict:
    return signed_round(str(job.public_id), step, job.release.train_items, volunteers, **changes)


def test_a_job_waits_for_its_credits(world, ben, release):
    give_credits(world, ben)
    job = jobs.create_job(ben, draft(release), key="k")
    assert (job.state, job.sample_limit) == ("funding", STEPS * BATCH)
    assert jobs.create_job(ben, draft(release), key="k") == job
    with pytest.raises(KeyReused):
        jobs.create_job(ben, draft(release, credit_limit=LIMIT + 1), key="k")
    with pytest.raises(WrongState):
        jobs.start_job(job)
    assert jobs.advance_jobs() == 0 and not selectors.runnable()
    world.settle()
    assert jobs.advance_jobs() == 1
    assert list(selectors.runnable()) == [job]
    assert ledger.balances(ben.ledger_ref).locked == LIMIT


def test_without_credits_there_is_no_job(ben, release):
    with pytest.raises(FundsShort) as refused:
        jobs.create_job(ben, draft(release), key="k")
    assert refused.value.asked == LIMIT and not Job.objects.exists()


@pytest.mark.parametrize(
    "change, place",
    [
        ({"recipe": "gpt"}, "recipe"),
        ({"recipe": "image-cnn-small"}, "recipe"),
        ({"parameters": {"steps": 0}}, "parameters.steps"),
        ({"parameters": {"layers": 3}}, "parameters.layers"),
        ({"strategy": "magic"}, "strategy"),
        ({"credit_limit": BATCH * SPEC_PRICE - 1}, "credit_limit_nano"),
        ({"credit_limit": True}, "credit_limit_nano"),
    ],
)
def test_a_wrong_wish_names_its_place(ben, release, change, place):
    with pytest.raises(InvalidInput) as refused:
        jobs.create_job(ben, draft(release, **change), key="k")
    assert place in refused.value.fields


@pytest.mark.parametrize(
    "limit, words",
    [(2**62, "^At most 9223372.036854775 credits"), (0, "^One step costs 0.0016 credits")],
)
def test_a_limit_is_too_high_or_too_low_in_its_own_words(ben, release, limit, words):
    with pytest.raises(InvalidInput, match=words):
        jobs.create_job(ben, draft(release, credit_limit=limit), key="k")


def test_an_unready_release_trains_nothing(ben, release):
    release.state = "building"
    with pytest.raises(InvalidInput):
        jobs.create_job(ben, draft(release), key="k")


def test_rounds_are_charged_once_and_shared_by_samples(job, volunteers):
    records = [round_of(job, step, volunteers) for step in range(2)]
    assert jobs.record_rounds(job, records) == jobs.RoundsResult(2, 0)
    later = [records[1], round_of(job, 2, volunteers[:1])]
    assert jobs.record_rounds(job, later) == jobs.RoundsResult(1, 1)
    assert jobs.record_rounds(job, [round_of(job, 2, volunteers, term=7)]) == jobs.RoundsResult(0, 1)
    job.refresh_from_db()
    assert (job.step, job.samples, job.charged) == (3, 3 * BATCH, 3 * BATCH * SPEC_PRICE)
    samples = dict(JobEarning.objects.values_list("peer__name", "samples"))
    assert samples == {"peer 1": 2 * BATCH, "peer 2": BATCH}
    assert [one.step for one in selectors.rounds(job)] == [0, 1, 2]


@pytest.mark.parametrize(
    "changes",
    [{"seed": 1}, {"n_items": 7}, {"step": STEPS}, {"job": "00000000-0000-4000-8000-000000000000"}],
    ids=lambda changes: next(iter(changes)),
)
def test_a_record_of_other_work_is_refused(job, volunteers, changes):
    fields = {"job": str(job.public_id), "step": 0, "n_items": job.release.train_items, **changes}
    record = signed_round(fields.pop("job"), fields.pop("step"), fields.pop("n_items"), volunteers, **fields)
    good = round_of(job, 1, volunteers)
    with pytest.raises(InvalidInput) as refused:
        jobs.record_rounds(job, [good, record])
    assert "records.1" in refused.value.fields
    assert not job.rounds.exists()  # all or none


def test_a_forged_unknown_or_retired_member_is_refused(job, volunteers, vera):
    forged = round_of(job, 0, volunteers)
    forged["members"][0]["signature"] = forged["members"][1]["signature"]
    unknown = round_of(job, 0, [*volunteers[:1], _stranger()])
    for record in (forged, unknown, {"job": "?"}):
        with pytest.raises(InvalidInput):
            jobs.record_rounds(job, [record])
    good = round_of(job, 0, volunteers)
    retire_peer(volunteers[0].peer, by=vera)
    with pytest.raises(InvalidInput, match="not an enrolled peer"):
        jobs.record_rounds(job, [good])
    assert not job.rounds.exists() and not JobEarning.objects.exists()


def _stranger() -> Volunteer:
    stranger = Volunteer.of(make_user("stranger"), 9)
    Peer.objects.filter(pk=stranger.peer.pk).delete()
    return stranger


def test_the_locked_credits_are_the_limit(job, volunteers):
    Job.objects.filter(pk=job.pk).update(credit_limit=2 * BATCH * SPEC_PRICE)
    jobs.record_rounds(job, [round_of(job, step, volunteers) for step in range(2)])
    with pytest.raises(InvalidInput) as refused:
        jobs.record_rounds(job, [round_of(job, 2, volunteers)])
    assert refused.value.code == "beyond_limit"
    job.refresh_from_db()
    assert job.samples == job.sample_limit


def test_a_job_that_does_not_run_takes_no_rounds(job, volunteers):
    record = round_of(job, 0, volunteers)
    jobs.record_rounds(job, [record])
    jobs.finish_job(job, outcome="stopped", step=1)
    assert jobs.record_rounds(job, [record]).repeated == 1
    with pytest.raises(WrongState):
        jobs.record_rounds(job, [round_of(job, 1, volunteers)])


def test_what_was_used_is_paid_and_the_rest_comes_back(world, job, volunteers, ben, vera, eve):
    jobs.record_rounds(job, [round_of(job, 0, volunteers), round_of(job, 1, volunteers[:1])])
    ended = jobs.finish_job(
        job, outcome="stopped", step=2, metrics={"accuracy": 0.5}, reason="No volunteers."
    )
    assert ended.state == "settling"
    assert jobs.finish_job(job, outcome="failed", step=9).outcome == "stopped"
    world.settle()
    assert jobs.advance_jobs() == 1
    job.refresh_from_db()
    charged = 2 * BATCH * SPEC_PRICE
    assert (job.state, job.charged, job.metrics, job.reason) == (
        "stopped",
        charged,
        {"accuracy": 0.5},
        "No volunteers.",
    )
    paid = {user: ledger.balances(user.ledger_ref).available for user in (vera, eve)}
    assert paid == {vera: charged * 9 // 10 * 3 // 4, eve: charged * 9 // 10 // 4}
    assert ledger.balances(ben.ledger_ref).credits == HYD - charged
    assert ledger.totals().books["burned"] == charged // 10
    assert [(e.owner_name, e.samples, e.share) for e in selectors.earnings(job)] == [
        ("vera", 12, 0.75),
        ("eve", 4, 0.25),
    ]
    assert Peer.objects.get(user=vera).samples_total == 12


def test_cancelling_before_and_during(world, job, volunteers, ben, eve, release):
    with pytest.raises(NotAllowed):
        jobs.cancel_job(job, by=eve)
    jobs.record_rounds(job, [round_of(job, 0, volunteers)])
    assert jobs.cancel_job(job, by=ben).state == jobs.cancel_job(job, by=ben).state == "settling"
    world.settle()
    unused = jobs.create_job(ben, draft(release), key="l")
    jobs.cancel_job(unused, by=ben)
    world.settle()
    jobs.advance_jobs()
    assert {one.state for one in Job.objects.all()} == {"cancelled"}
    assert ledger.balances(ben.ledger_ref).credits == HYD - BATCH * SPEC_PRICE
    assert not selectors.runnable()


def test_what_is_over_cannot_be_cancelled(world, job, ben):
    jobs.finish_job(job, outcome="completed", step=0)
    world.settle()
    jobs.advance_jobs()
    with pytest.raises(WrongState):
        jobs.cancel_job(job, by=ben)
    with pytest.raises(WrongState):
        jobs.record_metrics(job=Job.objects.get(), points=[{"step": 1, "loss": 1.0}])


def test_an_outcome_is_one_of_three(job):
    with pytest.raises(InvalidInput):
        jobs.finish_job(job, outcome="great", step=1)


def test_a_batch_is_traced_to_its_items(job, volunteers, release):
    jobs.record_rounds(job, [round_of(job, 1, volunteers)])
    traced = jobs.trace_batch(job, 1)
    lines = b"".join(
        storage.read(releases.find_file(release, file["name"]))
        for file in release.manifest["files"]
        if file["role"] == "train"
    ).splitlines()
    from trainer.wire import batch_indices

    ids = [json.loads(line)["id"] for line in lines]
    assert traced == [ids[i] for i in batch_indices(SEED, len(ids), 1, BATCH)]
    for step in (0, -1, 2**40):
        with pytest.raises(NotFound):
            jobs.trace_batch(job, step)


def test_the_curve_keeps_the_newest_measurement(job):
    assert (
        jobs.record_metrics(job, [{"step": 1, "loss": 2.0}, {"step": 1, "loss": 1.5, "accuracy": 0.5}]) == 1
    )
    jobs.record_metrics(job, [{"step": 0, "loss": 3.0}, {"step": 1, "accuracy": 0.75}])
    assert [(p.step, p.loss, p.accuracy) for p in selectors.curve(job)] == [(0, 3.0, None), (1, None, 0.75)]


def test_only_the_newest_checkpoint_is_kept(job, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        first = jobs.attach_checkpoint(job, step=2, content=safetensors(1.0)).checkpoint_key
    with django_capture_on_commit_callbacks(execute=True):
        newest = jobs.attach_checkpoint(job, step=4, content=safetensors(2.0), metrics={"loss": 1.0})
        assert jobs.attach_checkpoint(job, step=3, content=safetensors(3.0)).checkpoint_step == 4
    assert storage.read(newest.checkpoint_key) == safetensors(2.0)
    assert not storage.default_storage.exists(first)
    assert newest.metrics == {"loss": 1.0}


@pytest.mark.parametrize(
    "content",
    [NESTED, b"", b"\x80\x04pickle", b"\xff" * 16, b"\x02" + bytes(7) + b"[]"],
    ids=lambda content: f"{len(content)} bytes",
)
def test_what_is_no_safetensors_is_refused(job, content):
    with pytest.raises(InvalidInput):
        jobs.attach_checkpoint(job, step=1, content=content)


def test_a_job_is_seen_by_its_owner(job, ben, eve):
    assert selectors.get(job.public_id, ben) == job
    for viewer in (eve, None):
        with pytest.raises(NotFound):
            selectors.get(job.public_id, viewer)
    assert selectors.get_any(str(job.public_id)) == job
