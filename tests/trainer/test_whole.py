"""Backbone and volunteers with real recipes and real sockets, in one process: outages, restarts, goodbyes."""

import asyncio

import pytest

from tests.trainer.releases import RELEASE, make_release
from tests.trainer.running import run
from trainer.backbone.service import Backbone
from trainer.config import BackboneSettings, JoinSettings
from trainer.errors import EnrolmentRefused, NotEnrolled
from trainer.market.fake import FakeMarket
from trainer.solo import train_solo
from trainer.worker import make_worker

JOB = "11111111-0000-4000-8000-000000000001"
PARAMS = {"steps": 30, "batch_size": 24, "learning_rate": 0.02, "seed": 3, "hidden": 8}


class Stage:
    """The market, and the processes that a test starts as tasks."""

    def __init__(self, market, folder):
        self.market, self.folder, self.tasks = market, folder, []
        self.backbone = None

    async def start_backbone(self, port=0):
        settings = BackboneSettings(
            self.market.url, self.folder / "backbone", self.market.backbone_token, "127.0.0.1", port,
            checkpoint_every=3, poll_s=0.02,
        )  # fmt: skip
        settings.home.mkdir(exist_ok=True)
        self.backbone = Backbone(settings)
        self.backbone_task = asyncio.create_task(self.backbone.run())
        while not self.market.backbones:
            await asyncio.sleep(0.005)

    def settings(self, name, code=None):
        return JoinSettings(self.market.url, self.folder / name, code, name)

    async def start_worker(self, name):
        settings = self.settings(name, self.market.issue_code())
        worker = await asyncio.to_thread(make_worker, settings)
        self.tasks.append((worker, asyncio.create_task(worker.run())))
        return worker

    async def until(self, claim):
        while not claim():
            await asyncio.sleep(0.005)

    async def end(self):
        for worker, task in self.tasks:
            worker.stop()
            await task
            worker.market.close()
        self.backbone.stop()
        await self.backbone_task
        self.backbone.market.close()
        await asyncio.sleep(0.01)


@pytest.fixture
def stage(tmp_path):
    make_release(tmp_path / "release", n_train=120, n_test=60)
    with FakeMarket({RELEASE: tmp_path / "release"}) as market:
        yield Stage(market, tmp_path)


def add_job(stage, **changes):
    return stage.market.add_job(JOB, RELEASE, "tabular-mlp", {**PARAMS, **changes}, 10**6)


def test_a_job_is_found_trained_and_finished_as_one_process_would(stage):
    async def main():
        await stage.start_backbone()
        await stage.start_worker("a")
        await stage.start_worker("b")
        job = add_job(stage)
        await stage.until(lambda: job.outcome)
        await stage.end()
        return job

    job = run(main())
    assert job.outcome["outcome"] == "completed"
    assert sorted(job.rounds) == list(range(30))
    alone = train_solo(stage.folder / "release", "tabular-mlp", PARAMS)
    assert abs(job.outcome["metrics"]["accuracy"] - alone["accuracy"]) <= 0.02
    assert {peer["state"] for peer in stage.market.presence.values()} <= {
        "idle",
        "training",
        "syncing",
        "offline",
    }


def test_a_market_that_goes_away_stops_nothing_and_is_told_later(stage):
    async def main():
        await stage.start_backbone()
        worker = await stage.start_worker("a")
        job = add_job(stage)
        await stage.until(lambda: worker.follower.rounds.committed >= 3)
        stage.market.away = True
        await stage.until(lambda: worker.follower.rounds.committed == 30)
        assert job.outcome is None
        stage.market.away = False
        await stage.until(lambda: job.outcome)
        await stage.end()
        return job

    job = run(main())
    assert sorted(job.rounds) == list(range(30)) and job.outcome["outcome"] == "completed"


def test_a_backbone_that_dies_goes_on_from_its_disk_and_its_peers_come_back(stage):
    async def main():
        await stage.start_backbone()
        worker = await stage.start_worker("a")
        job = add_job(stage, steps=60)
        await stage.until(lambda: worker.follower.rounds.committed >= 10)
        stage.backbone_task.cancel()
        await asyncio.wait({stage.backbone_task})
        stage.backbone.market.close()
        stage.market.backbones.clear()
        await stage.start_backbone()
        await stage.until(lambda: job.outcome)
        await stage.end()
        return job

    job = run(main())
    assert job.outcome["outcome"] == "completed" and job.outcome["step"] == 60
    assert sorted(job.rounds) == list(range(60))
    terms = [job.rounds[step].term for step in range(60)]
    assert terms == sorted(terms) and len(set(terms)) > 1


def test_a_cancelled_job_frees_its_peers_for_the_next(stage):
    async def main():
        await stage.start_backbone()
        worker = await stage.start_worker("a")
        job = add_job(stage, steps=100_000)
        await stage.until(lambda: worker.follower.rounds.committed >= 3)
        job.listing["state"] = "cancelled"
        after = stage.market.add_job(JOB.replace("1-0", "2-0"), RELEASE, "tabular-mlp", PARAMS, 10**6)
        await stage.until(lambda: after.outcome)
        await stage.end()
        return job

    assert run(main()).outcome is None


def test_a_job_that_cannot_run_is_reported_failed_with_the_reason(stage):
    async def main():
        await stage.start_backbone()
        job = stage.market.add_job(JOB, RELEASE, "image-cnn-small", {"steps": 1}, 10**6)
        await stage.until(lambda: job.outcome)
        await stage.end()
        return job

    job = run(main())
    assert job.outcome["outcome"] == "failed" and "tabular" in job.outcome["reason"]


def test_a_peer_without_enrolment_or_code_is_told_what_to_do(stage):
    with pytest.raises(NotEnrolled, match="one-time code"):
        make_worker(stage.settings("x"))
    with pytest.raises(EnrolmentRefused, match="not valid"):
        make_worker(stage.settings("x", "wrong"))


def test_an_enrolment_is_kept(stage):
    first = make_worker(stage.settings("x", stage.market.issue_code()))
    again = make_worker(stage.settings("x"))
    assert again.identity.peer_id == first.identity.peer_id
    assert again.market.token == first.market.token
    assert (stage.folder / "x" / "enrolment.json").stat().st_mode & 0o777 == 0o600
    for worker in (first, again):
        worker.market.close()
        worker.follower.close()
