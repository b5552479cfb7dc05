"""Synchronous SGD on a real recipe: shares of any size learn what one process learns; states copy exactly."""

import numpy as np
import pytest
import torch

from tests.trainer.releases import RELEASE, make_release
from trainer.errors import BadMessage, NotFinite, ReleaseInvalid, RoundAborted
from trainer.strategies.build import build_replica, check_version
from trainer.strategies.tensors import pack, unpack
from trainer.swarm.planning import split_evenly
from trainer.wire.sampling import batch_indices

PARAMS = {"steps": 20, "batch_size": 48, "learning_rate": 0.02, "seed": 3, "hidden": 8}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    manifest = make_release(folder, n_train=200, n_test=40)
    return manifest, [folder / "train-00000.jsonl", folder / "train-00001.jsonl"]


@pytest.fixture
def make(release):
    manifest, paths = release
    return lambda **changes: build_replica("tabular-mlp", {**PARAMS, **changes}, manifest, paths)


def learn(replicas, cuts, steps=20):
    """Every replica computes its cut of each batch and applies the weighted mean of all."""
    for step in range(steps):
        indices = batch_indices(3, replicas[0].n_items, step, 48)
        total = np.zeros(replicas[0].size)
        for replica, (first, count) in zip(replicas, cuts, strict=True):
            computed = replica.compute(indices[first : first + count], lambda: False)
            total += computed.vector.astype(np.float64) * (count / 48)
        for replica in replicas:
            replica.apply(total.astype(np.float32))


def weights(replica):
    return torch.cat([parameter.detach().flatten() for parameter in replica.model.parameters()])


@pytest.mark.parametrize("cuts", [split_evenly(48, 3), [(0, 1), (1, 40), (41, 7)]], ids=["equal", "unequal"])
def test_shares_of_any_size_learn_what_one_process_learns(make, cuts):
    one, many = make(), [make() for _ in cuts]
    learn([one], [(0, 48)])
    learn(many, cuts)
    assert (weights(one) - weights(many[0])).abs().max() < 1e-5
    assert len({replica.state_digest() for replica in many}) == 1


def test_micro_batches_add_up_to_the_mean_over_the_share(make):
    replica = make(batch_size=200)
    indices = batch_indices(3, replica.n_items, 0, 150)
    computed = replica.compute(indices, lambda: False)
    loss = replica.recipe.loss(replica.model, replica.train.inputs[indices], replica.train.labels[indices])
    gradients = torch.autograd.grad(loss, list(replica.model.parameters()))
    assert computed.loss == pytest.approx(loss.item(), abs=1e-6)
    assert np.allclose(computed.vector, torch.cat([g.flatten() for g in gradients]).numpy(), atol=1e-6)


def test_computing_changes_nothing_that_the_state_holds(make):
    replica = make()
    before = replica.state_digest()
    replica.compute([1, 2, 3], lambda: False)
    assert replica.state_digest() == before


def test_a_joiner_that_takes_the_state_goes_on_byte_for_byte(make):
    first, joiner = make(), make(seed=9)
    learn([first], [(0, 48)], steps=5)
    joiner.import_state(first.export_state())
    assert joiner.step == 5 and joiner.state_digest() == first.state_digest()
    mean = first.compute([1, 2, 3], lambda: False).vector.copy()
    first.apply(mean)
    joiner.apply(mean)
    assert joiner.state_digest() == first.state_digest()


@pytest.mark.parametrize(
    "damage",
    [lambda state: state[:-1], lambda state: b"", lambda state: b"\xff" * 40],
    ids=["cut", "empty", "rubbish"],
)
def test_a_state_that_is_none_changes_nothing(make, damage):
    replica = make()
    before = replica.state_digest()
    with pytest.raises(BadMessage):
        replica.import_state(damage(replica.export_state()))
    assert replica.state_digest() == before


def test_a_state_of_another_model_is_refused(make):
    replica = make()
    before = replica.state_digest()
    with pytest.raises(BadMessage, match="not a state of this model"):
        replica.import_state(make(hidden=9).export_state())
    assert replica.state_digest() == before


def test_numbers_that_are_not_finite_are_never_reported(make):
    replica = make()
    with torch.no_grad():
        next(replica.model.parameters()).fill_(float("nan"))
    with pytest.raises(NotFinite):
        replica.compute([1, 2, 3], lambda: False)


def test_a_compute_stops_between_micro_batches_when_told(make):
    with pytest.raises(RoundAborted):
        make().compute(list(range(150)), lambda: True)


def test_tensors_survive_as_safetensors_and_equal_ones_are_equal_bytes():
    tensors = {
        "b": torch.arange(6).reshape(2, 3),
        "a": torch.tensor(1.5),
        "c": torch.zeros(0, dtype=torch.uint8),
    }
    packed = pack(tensors, {"step": "3"})
    back, metadata = unpack(packed)
    assert metadata == {"step": "3"}
    assert all(torch.equal(back[name], tensors[name]) for name in tensors)
    assert pack(dict(reversed(tensors.items())), {"step": "3"}) == packed


def test_what_does_not_fit_is_said_in_words(release):
    manifest, paths = release
    with pytest.raises(ReleaseInvalid, match="no recipe"):
        build_replica("nothing", {}, manifest, paths)
    with pytest.raises(ReleaseInvalid, match="tabular"):
        build_replica("image-cnn-small", {}, manifest, paths)
    with pytest.raises(ReleaseInvalid, match=RELEASE):
        build_replica("tabular-mlp", {"steps": 0}, manifest, paths)


def test_another_version_of_a_recipe_is_refused():
    check_version("tabular-mlp", "1")
    with pytest.raises(ReleaseInvalid, match="update this program"):
        check_version("tabular-mlp", "2")
    with pytest.raises(ReleaseInvalid, match="update this program"):
        check_version("unheard-of", "1")
