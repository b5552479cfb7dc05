"""Whole rounds over real channels: what is committed is held by all, byte for byte, whoever dies and whenever."""

import asyncio
import random

import pytest

from tests.trainer.running import run
from tests.trainer.swarm.small_network import LineReplica, Network
from trainer.errors import Dismissed, NotFinite
from trainer.net.memory import Faults, MemoryNet
from trainer.net.tcp import TcpTransport
from trainer.swarm.leader import LeaderSettings
from trainer.wire import batch_indices, verify_record

TRANSPORTS = {"memory": lambda: MemoryNet().transport, "tcp": lambda: lambda name: TcpTransport()}
PATIENT = LeaderSettings()
HASTY = LeaderSettings(least_round_s=0.8, first_round_s=0.8)


def train(
    transports,
    folder,
    *,
    peers=3,
    steps=12,
    settings=PATIENT,
    dtype="float64",
    play=None,
    together=True,
):
    """Runs a job; `play(network, job)` may interfere. Returns the network and the job."""

    async def main():
        network = Network(transports, folder, dtype)
        await network.start(settings)
        for number in range(1, peers + 1):
            await network.join(number)
        await network.wait_for_peers(peers)
        job = network.job(steps)
        if together:
            await network.prepare_all(job)
        if play is not None:
            play(network, job)
        job.ended = await network.leader.lead(job)
        await asyncio.sleep(0.01)
        await network.stop()
        return network, job

    return run(main())


def alone(steps, dtype="float64", batch=10):
    """The same steps on one process."""
    replica = LineReplica(dtype)
    for step in range(steps):
        replica.apply(replica.compute(batch_indices(7, replica.n_items, step, batch), lambda: False).vector)
    return replica


def digests(network, job):
    return {
        job.replica.state_digest(),
        *(each.replica.state_digest() for each in network.volunteers.values()),
    }


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_three_peers_and_the_backbone_hold_the_same_bytes(transport, dtype, tmp_path):
    network, job = train(TRANSPORTS[transport](), tmp_path, dtype=dtype)
    assert job.ended == "all steps are done" and job.replica.step == 12
    assert len(digests(network, job)) == 1
    bound = 1e-12 if dtype == "float64" else 1e-5
    assert abs(job.replica.weights - alone(12, dtype).weights).max() < bound


def test_every_step_leaves_a_record_that_a_stranger_can_verify(tmp_path):
    network, job = train(MemoryNet().transport, tmp_path)
    keys = {
        each.follower.endpoint.identity.peer_id: each.follower.endpoint.identity.public_key
        for each in network.volunteers.values()
    }
    assert [record.step for record in job.records] == list(range(12))
    for record in job.records:
        verify_record(record, keys)
        assert record.samples == 10


@pytest.mark.parametrize("seed", range(3))
def test_delays_change_who_is_there_when_but_not_what_is_learned(seed, tmp_path):
    net = MemoryNet(Faults(delay_s=0.003, seed=seed))
    network, job = train(net.transport, tmp_path / str(seed), steps=6, together=False)
    assert len(digests(network, job)) == 1
    assert abs(job.replica.weights - alone(6).weights).max() < 1e-12


@pytest.fixture(autouse=True)
def folders(tmp_path):
    for seed in range(20):
        (tmp_path / str(seed)).mkdir()


@pytest.mark.parametrize("seed", range(12))
def test_a_peer_killed_anywhere_costs_its_round_at_most(seed, tmp_path):
    frames = random.Random(seed).randrange(24, 120)
    net = MemoryNet(Faults(kill_after={"peer-2": frames}))
    # Steps enough for a peer that joins late to come to its end, too.
    network, job = train(net.transport, tmp_path / str(seed), peers=4, steps=60, together=False)
    assert job.replica.step == 60 and "peer-2" in net.dead
    network.volunteers.pop(2)
    assert len(digests(network, job)) == 1
    assert abs(job.replica.weights - alone(60).weights).max() < 1e-12
    terms = [record.term for record in job.records]
    assert terms == sorted(terms)


def test_the_survivors_commit_the_same_step_under_the_next_term(tmp_path):
    def play(network, job):
        victim = network.volunteers[3]

        def die(step):
            if step == 4:
                network.roster.endpoint.transport._net.kill("peer-3")

        victim.replica.on_compute = die

    _, job = train(MemoryNet().transport, tmp_path, play=play)
    before, after = job.records[3], job.records[4]
    assert (len(before.members), len(after.members)) == (3, 2)
    assert after.step == 4 and after.term > before.term
    assert after.samples == 10


@pytest.mark.parametrize("seed", range(4))
def test_a_peer_that_falls_silent_is_left_out_in_bounded_time(seed, tmp_path):
    frames = random.Random(seed).randrange(24, 70)
    net = MemoryNet(Faults(mute_after={"peer-2": frames}))
    network, job = train(net.transport, tmp_path / str(seed), settings=HASTY, together=False)
    assert job.replica.step == 12
    network.volunteers.pop(2)
    assert len(digests(network, job)) == 1


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_late_joiner_is_equal_byte_for_byte(transport, tmp_path):
    def play(network, job):
        def join(step):
            if step == 5:
                network.joining = asyncio.create_task(network.join(9))
                network.volunteers[1].replica.on_compute = lambda step: None

        job.on_commit = join
        network.volunteers[1].replica.on_compute = lambda step: None

    network, job = train(TRANSPORTS[transport](), tmp_path, steps=60, play=play)
    assert len(digests(network, job)) == 1
    joined = network.volunteers[9]
    assert any(joined.peer_id in {m.peer_id for m in record.members} for record in job.records)
    assert joined.replica.step == 60


def test_with_nobody_there_the_job_waits_and_then_goes_on(tmp_path):
    async def main():
        network = Network(MemoryNet().transport, tmp_path)
        await network.start(LeaderSettings(poll_s=0.01))
        job = network.job(3)
        leading = asyncio.create_task(network.leader.lead(job))
        await asyncio.sleep(0.03)
        assert job.replica.step == 0 and not leading.done()
        await network.join(1)
        assert await leading == "all steps are done"
        await network.stop()

    run(main())


def test_a_peer_whose_numbers_are_not_finite_is_left_out_of_that_step_only(tmp_path):
    def play(network, job):
        network.volunteers[2].replica.poison_at = 3

    network, job = train(MemoryNet().transport, tmp_path, play=play)
    poisoned = network.volunteers[2].peer_id
    took_part = [poisoned in {member.peer_id for member in record.members} for record in job.records]
    assert took_part == [step != 3 for step in range(12)]
    assert len(digests(network, job)) == 1


def test_when_nobodys_numbers_are_finite_the_training_has_diverged(tmp_path):
    def play(network, job):
        for volunteer in network.volunteers.values():
            volunteer.replica.poison_at = 3

    with pytest.raises(NotFinite, match="step 3"):
        train(MemoryNet().transport, tmp_path, play=play)


def test_a_compute_that_breaks_costs_the_peer_its_place_not_the_job(tmp_path):
    def play(network, job):
        def fail(step):
            if step == 2:
                raise RuntimeError("out of memory")

        network.volunteers[1].replica.on_compute = fail

    _, job = train(MemoryNet().transport, tmp_path, play=play)
    assert job.replica.step == 12
    assert len(job.records[2].members) == 2


def test_a_peer_whose_state_has_strayed_is_found_and_fetches_it_again(tmp_path):
    def play(network, job):
        def stray(step):
            if step == 2:
                network.volunteers[1].replica.weights[0] += 1e-9

        network.volunteers[1].replica.on_compute = stray

    network, job = train(
        MemoryNet().transport, tmp_path, play=play, settings=LeaderSettings(check_every=2), steps=8
    )
    assert len(digests(network, job)) == 1


def test_a_stranger_is_refused(tmp_path):
    async def main():
        network = Network(MemoryNet().transport, tmp_path)
        await network.start()
        network.strangers.add((await network.join(1)).peer_id)
        volunteer = network.volunteers[1]
        await volunteer.task
        assert isinstance(volunteer.error, Dismissed) and "not enrolled" in str(volunteer.error)
        assert not network.roster.seats
        await network.stop()

    run(main())


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_peer_that_another_process_replaces_is_told_why(transport, tmp_path):
    async def main():
        network = Network(TRANSPORTS[transport](), tmp_path)
        await network.start()
        older = await network.join(1)
        await network.wait_for_peers(1)
        seat = network.roster.seats[older.peer_id]
        newer = await network.join(1)
        await older.task
        assert isinstance(older.error, Dismissed) and "newer connection of the same peer" in str(older.error)
        assert network.roster.seats[newer.peer_id] is not seat and not newer.task.done()
        older.follower.close()
        older.listener.close()
        await network.stop()

    run(main())


def test_leaving_is_between_rounds_and_aborts_nothing(tmp_path, caplog):
    def play(network, job):
        def leave(step):
            if step == 5:
                network.goodbye = asyncio.create_task(network.volunteers[2].follower.leave())

        job.on_commit = leave

    network, job = train(MemoryNet().transport, tmp_path, play=play, steps=20)
    left = network.volunteers.pop(2)
    assert left.task.done() and not hasattr(left, "error")
    assert "aborted" not in caplog.text
    assert len(job.records[0].members) == 3 and len(job.records[-1].members) == 2
    assert len(digests(network, job)) == 1


def test_more_peers_than_samples_all_stay_in_step(tmp_path):
    async def main():
        network = Network(MemoryNet().transport, tmp_path)
        await network.start()
        for number in (1, 2, 3):
            await network.join(number)
        await network.wait_for_peers(3)
        job = network.job(6, batch=2)
        await network.leader.lead(job)
        await asyncio.sleep(0.01)
        assert all(len(record.members) <= 2 for record in job.records)
        assert len(digests(network, job)) == 1
        await network.stop()

    run(main())
