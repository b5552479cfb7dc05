"""A job on the backbone: when it ends, what is durable, what the market is owed, what volunteers may fetch."""

import asyncio
import json

import pytest

from tests.trainer.releases import RELEASE, make_release
from tests.trainer.running import run
from trainer.backbone.folder import JobFolder
from trainer.backbone.jobrun import JobRun, Place, Ticket, finite
from trainer.clock import ManualClock
from trainer.config import BackboneSettings
from trainer.errors import BadMessage, ReleaseInvalid
from trainer.identity import from_seed
from trainer.market.api import Market
from trainer.market.fake import FakeMarket
from trainer.market.outbox import Outbox
from trainer.net.pieces import PieceStore
from trainer.recipes import checkpoint
from trainer.wire.records import Attestation, MemberRecord, RoundRecord
from trainer.wire.sampling import batch_indices

JOB = "11111111-0000-4000-8000-000000000001"
PARAMS = {"steps": 6, "batch_size": 10, "learning_rate": 0.02, "seed": 3, "hidden": 4}
PEER = from_seed(b"p" * 32)
DIGEST = "ab" * 32


@pytest.fixture
def fake(tmp_path):
    make_release(tmp_path / "release", n_train=60, n_test=30)
    with FakeMarket({RELEASE: tmp_path / "release"}) as market:
        market.job = market.add_job(JOB, RELEASE, "tabular-mlp", PARAMS, 10_000)
        yield market


@pytest.fixture
def place(fake, tmp_path):
    settings = BackboneSettings(
        fake.url, tmp_path / "home", fake.backbone_token, "127.0.0.1", 0, checkpoint_every=2
    )
    client = Market(fake.url, fake.backbone_token, tries=1)
    yield Place(settings, client, Outbox(tmp_path / "home" / "outbox"), PieceStore(), ManualClock())
    client.close()


def ready(fake, place, **changes):
    job = JobRun(Ticket.of_listing({**fake.job.listing, **changes}), place, lambda: False)
    job.prepare()
    return job


def record_of(job, step):
    course = job.course
    said = Attestation(
        job=course.job, step=step, term=1, batch=course.batch, seed=course.seed, n_items=course.n_items, first=0,
        count=course.batch, samples=course.batch, digest=DIGEST,
    )  # fmt: skip
    member = MemberRecord(
        peer_id=PEER.peer_id, first=0, count=course.batch, samples=course.batch, digest=DIGEST,
        signature=said.sign(PEER.key),
    )  # fmt: skip
    fields = {**said.to_dict(), "members": (member,), "loss": 0.5, "at": "2026-11-30T23:00:00.000Z"}
    return RoundRecord(**{name: fields[name] for name in RoundRecord.__dataclass_fields__})


async def take_steps(job, count):
    for _ in range(count):
        replica = job.replica
        indices = batch_indices(job.course.seed, replica.n_items, replica.step, job.course.batch)
        replica.apply(replica.compute(indices, lambda: False).vector)
        await job.committed(record_of(job, replica.step - 1))


def test_a_job_runs_to_its_last_step_and_tells_the_market_in_order(fake, place):
    fake.peers.append({"peer_id": PEER.peer_id, "public_key": PEER.public_key, "name": "p", "active": True})

    async def main():
        job = await asyncio.to_thread(ready, fake, place)
        assert job.find_end() is None
        await take_steps(job, 6)
        await job.end(job.find_end())
        return job

    job = run(main())
    place.outbox.send_all(place.market)
    assert fake.job.outcome["outcome"] == "completed" and fake.job.outcome["step"] == 6
    assert fake.job.calls[0] == "start" and fake.job.calls[-2:] == ["checkpoint", "finish"]
    assert sorted(fake.job.rounds) == list(range(6))
    assert 6 in fake.job.points and fake.job.outcome["metrics"]["accuracy"] == fake.job.points[6]["accuracy"]
    assert job.folder.is_over


def test_the_uploaded_checkpoint_is_the_model(fake, place, tmp_path):
    async def main():
        job = await asyncio.to_thread(ready, fake, place)
        await take_steps(job, 6)
        await job.end("")
        return job

    job = run(main())
    place.outbox.send_all(place.market)
    (tmp_path / "c.safetensors").write_bytes(fake.job.checkpoint)
    loaded = checkpoint.load(tmp_path / "c.safetensors")
    assert loaded.about.step == 6 and loaded.about.release == RELEASE
    measured = job.replica.recipe.evaluate(loaded.model, job.test)
    assert measured["accuracy"] == fake.job.points[6]["accuracy"]


@pytest.mark.parametrize("limit, steps", [(29, 2), (30, 3), (9, 0)])
def test_no_step_is_begun_that_the_credits_do_not_pay(fake, place, limit, steps):
    async def main():
        job = await asyncio.to_thread(ready, fake, place, sample_limit=limit)
        while (reason := job.find_end()) is None:
            await take_steps(job, 1)
        assert job.replica.step == steps and "credits" in reason
        await job.end(reason)

    run(main())
    place.outbox.send_all(place.market)
    assert fake.job.outcome["outcome"] == "stopped" and "credits" in fake.job.outcome["reason"]


def test_a_killed_backbone_continues_from_the_last_durable_step(fake, place):
    async def main():
        first = await asyncio.to_thread(ready, fake, place)
        await take_steps(first, 3)  # durable after two
        second = await asyncio.to_thread(ready, fake, place)
        assert second.replica.step == 2
        await take_steps(second, 1)
        assert second.replica.state_digest() == first.replica.state_digest()

    run(main())


def test_a_slow_job_is_durable_by_time_too(fake, place):
    async def main():
        job = await asyncio.to_thread(ready, fake, place)
        place.clock.advance(4.0)
        await take_steps(job, 1)
        assert (await asyncio.to_thread(ready, fake, place)).replica.step == 1

    run(main())


def test_stopping_the_backbone_pauses_the_job_and_ends_nothing(fake, place):
    async def main():
        job = await asyncio.to_thread(ready, fake, place)
        await take_steps(job, 3)
        job._is_stopping = lambda: True
        await job.end(job.find_end())
        assert not job.folder.is_over
        assert (await asyncio.to_thread(ready, fake, place)).replica.step == 3

    run(main())
    place.outbox.send_all(place.market)
    assert fake.job.outcome is None


def test_a_job_that_is_listed_no_more_is_paused_and_what_was_done_is_claimed(fake, place):
    async def main():
        job = await asyncio.to_thread(ready, fake, place)
        await take_steps(job, 3)
        job.cancelled = True
        await job.end(job.find_end())
        assert not job.folder.is_over
        assert (await asyncio.to_thread(ready, fake, place)).replica.step == 3

    run(main())
    fake.peers.append({"peer_id": PEER.peer_id, "public_key": PEER.public_key, "name": "p", "active": True})
    place.outbox.send_all(place.market)
    assert sorted(fake.job.rounds) == [0, 1, 2] and fake.job.outcome is None


def test_volunteers_can_fetch_train_pieces_and_no_others(fake, place, tmp_path):
    job = ready(fake, place)
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    for file in manifest["files"]:
        served = [place.store.find(piece) is not None for piece in file["pieces"]]
        assert all(served) if file["role"] == "train" else not any(served)
    test_hash = next(file["sha256"] for file in manifest["files"] if file["role"] == "test")
    assert test_hash.encode() not in job.manifest


@pytest.mark.parametrize(
    "changes, why",
    [
        ({"strategy": "vcasgd"}, "sync"),
        ({"recipe": "other"}, "recipe"),
        ({"recipe_version": "99"}, "version"),
        ({"parameters": {"steps": -1}}, "steps"),
        ({"recipe": "image-cnn-small", "parameters": {}}, "tabular"),
    ],
    ids=["strategy", "recipe", "version", "parameters", "modality"],
)
def test_a_job_that_cannot_run_says_why(fake, place, changes, why):
    with pytest.raises(ReleaseInvalid, match=why):
        ready(fake, place, **changes)


def test_a_listing_that_cannot_be_read_is_a_bad_message(fake):
    assert Ticket.of_listing(fake.job.listing).id == JOB
    with pytest.raises(BadMessage, match="sample_limit"):
        Ticket.of_listing({**fake.job.listing, "sample_limit": "many"})


def test_a_job_that_diverged_keeps_its_last_good_state_and_says_why(fake, place):
    fake.peers.append({"peer_id": PEER.peer_id, "public_key": PEER.public_key, "name": "p", "active": True})

    async def main():
        job = await asyncio.to_thread(ready, fake, place)
        await take_steps(job, 3)
        await asyncio.to_thread(job.finish, "failed", "the loss is not finite at step 3")

    run(main())
    place.outbox.send_all(place.market)
    assert fake.job.outcome["outcome"] == "failed" and "not finite" in fake.job.outcome["reason"]
    assert fake.job.outcome["step"] == 3 and fake.job.checkpoint and sorted(fake.job.rounds) == [0, 1, 2]


def test_terms_are_never_used_twice_even_after_a_restart(tmp_path):
    terms = [JobFolder(tmp_path, "j").next_term() for _ in range(3)]
    assert terms == [1, 2, 3]
    assert JobFolder(tmp_path, "other").next_term() == 1


def test_a_loss_that_is_no_number_is_told_as_none():
    assert finite({"loss": float("inf"), "accuracy": 0.1, "per_class": {}}) == {
        "loss": None,
        "accuracy": 0.1,
        "per_class": {},
    }


def test_finite_figures_stay_as_they_are():
    assert finite({"loss": 0.5, "step": 3}) == {"loss": 0.5, "step": 3}
