"""The whole network as operating-system processes: one of three volunteers is killed, and the job ends as it should."""

import signal
import subprocess
import sys
import time

import pytest

from tests.trainer.releases import RELEASE, make_release
from trainer.market.fake import FakeMarket
from trainer.solo import train_solo
from trainer.wire.records import verify_record

JOB = "11111111-0000-4000-8000-000000000001"
PARAMS = {"steps": 45, "batch_size": 48, "learning_rate": 0.02, "seed": 3, "hidden": 8}
LIMIT_S = 120  # a machine that does nothing else takes about ten


class Stage:
    def __init__(self, market, folder):
        self.market, self.folder, self.running = market, folder, {}

    def start(self, name, *words):
        command = [sys.executable, "-m", "trainer", *words, "--market", self.market.url]
        command += ["--home", str(self.folder / name)]
        log = (self.folder / f"{name}.log").open("wb")
        self.running[name] = subprocess.Popen(command, stdout=log, stderr=log)
        log.close()

    def until(self, claim):
        limit = time.monotonic() + LIMIT_S
        while not claim():
            assert time.monotonic() < limit, self.logs()
            time.sleep(0.02)

    def logs(self):
        return "\n".join((self.folder / f"{name}.log").read_text()[-3000:] for name in self.running)

    def end_all(self):
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        return {name: process.wait(30) for name, process in self.running.items()}


@pytest.fixture
def stage(tmp_path):
    make_release(tmp_path / "release", n_train=300, n_test=200)
    with FakeMarket({RELEASE: tmp_path / "release"}) as market:
        (tmp_path / "token").write_text(market.backbone_token)
        stage = Stage(market, tmp_path)
        yield stage
        for process in stage.running.values():
            process.kill()
            process.wait()


@pytest.mark.processes
def test_three_volunteers_one_killed_and_the_job_ends_as_one_process_would(stage):
    job = stage.market.add_job(JOB, RELEASE, "tabular-mlp", PARAMS, 10**6)
    stage.start(
        "backbone", "backbone", "--token-file", str(stage.folder / "token"), "--checkpoint-every", "5"
    )
    for name in ("a", "b", "c"):
        code = stage.market.issue_code()
        stage.start(name, "join", "--code", code, "--name", name, "--max-rounds-delay-ms", "60")

    def members():
        return max((len(record.members) for record in [*job.rounds.values()]), default=0)

    stage.until(lambda: members() == 3)
    stage.running["b"].kill()
    stage.until(lambda: job.outcome)
    codes = stage.end_all()

    assert job.outcome["outcome"] == "completed", stage.logs()
    assert sorted(job.rounds) == list(range(PARAMS["steps"]))
    keys = {peer["peer_id"]: peer["public_key"] for peer in stage.market.peers}
    for record in job.rounds.values():
        verify_record(record, keys)
    assert len(job.rounds[PARAMS["steps"] - 1].members) == 2
    alone = train_solo(stage.folder / "release", "tabular-mlp", PARAMS)
    assert abs(job.outcome["metrics"]["accuracy"] - alone["accuracy"]) <= 0.02
    assert (codes["backbone"], codes["a"], codes["c"]) == (0, 0, 0), stage.logs()
    assert codes["b"] == -signal.SIGKILL
