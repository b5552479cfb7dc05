"""The cast of the pages' tests and one small world: a campaign with a judged submission, a release and a job.

Ada sponsors, Ben contributes, Cleo moderates, Eve is a stranger to all of it.
"""

from dataclasses import dataclass

import pytest
from django.test import Client
from django.utils import timezone

from marketplace.models import (
    Campaign,
    Evidence,
    Item,
    Job,
    JobEarning,
    JobMetric,
    JobRound,
    Peer,
    Release,
    Submission,
    User,
    Verdict,
)


def browser(user: User | None = None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def make_campaign(owner: User, slug: str = "digits", **fields) -> Campaign:
    terms = {
        "modality": "image", "state": "open", "classes": ["0", "1"], "consent_text": "I agree.", "opened_at": timezone.now(),
        "attributes": [{"name": "hand", "values": ["left", "right"], "targets": {"left": 0.3, "right": 0.7}}],
    }  # fmt: skip
    return Campaign.objects.create(slug=slug, title=slug.title(), owner=owner, **{**terms, **fields})


@pytest.fixture
def campaign(ada) -> Campaign:
    return make_campaign(ada)


@pytest.fixture
def submission(campaign, ben) -> Submission:
    """One item of each state, and a second pending one that waits for a person."""
    made = Submission.objects.create(campaign=campaign, contributor=ben, state="judged", consent_version=1)
    for position, state in enumerate(["accepted", "duplicate", "rejected", "ignored", "pending", "pending"]):
        Item.objects.create(
            campaign=campaign, submission=made, contributor=ben, position=position, name=f"{state}-{position}.png", state=state,
            label="0", text="a tiny text", original_sha256=f"{position:064}", content_sha256=f"{position:064}",
            needs_review=position == 5, reason="Because of this." if state != "pending" else "",
            attributes={"hand": "left"}, decided_at=timezone.now() if state != "pending" else None,
        )  # fmt: skip
    accepted = made.items.get(state="accepted")
    Item.objects.filter(pk=accepted.pk).update(
        reward=1_500_000_000, reward_status="settled", quality=0.9, novelty=1.0, scarcity=1.2
    )
    Evidence.objects.create(
        item=accepted, validator="technical", version="1", score=0.9, outcome="ok", reasons=["Sharp enough."], digest="d" * 64
    )  # fmt: skip
    Evidence.objects.create(
        item=accepted,
        validator="reward",
        version="1",
        outcome="ok",
        reasons=["quality: sharp"],
        digest="e" * 64,
    )
    Verdict.objects.create(item=accepted, sequence=1, outcome="accepted", reason="Passed the checks.")
    return made


@pytest.fixture
def waiting(submission) -> Item:
    return submission.items.get(needs_review=True)


@pytest.fixture
def release(campaign, ada) -> Release:
    files = [{"name": "train-00000.zip", "role": "train", "bytes": 10, "sha256": "a" * 64, "items": 3}]
    return Release.objects.create(
        campaign=campaign, version=1, state="ready", created_by=ada, train_items=3, test_items=1,
        manifest={"files": files}, manifest_sha256="b" * 64,
    )  # fmt: skip


def make_peer(user: User, name: str) -> Peer:
    digest = f"{len(name):02}{name.encode().hex()}".ljust(64, "0")[:64]
    return Peer.objects.create(
        user=user, peer_id=digest, public_key=digest, name=name, state="training", samples_per_s=120, last_seen_at=timezone.now()
    )  # fmt: skip


@pytest.fixture
def job(release, ben, eve) -> Job:
    """Two peers train; the second is gone after the first round."""
    made = Job.objects.create(
        owner=ben, release=release, recipe="image-cnn-small", recipe_version="1", parameters={"steps": 2, "batch_size": 4},
        credit_limit=8_000_000, nano_per_sample=1_000_000, state="running", step=2, samples=8, charged=8_000_000,
    )  # fmt: skip
    first, second = make_peer(eve, "north"), make_peer(eve, "south")
    for step, members in ((1, [first, second]), (2, [first])):
        record = {"members": [{"peer_id": peer.peer_id, "samples": 4 // len(members)} for peer in members]}
        JobRound.objects.create(job=made, step=step, term=step, samples=4, loss=1.0 / step, record=record)
        JobMetric.objects.create(job=made, step=step, loss=1.0 / step, accuracy=0.5 * step)
    JobEarning.objects.create(job=made, peer=first, samples=6)
    JobEarning.objects.create(job=made, peer=second, samples=2)
    return made


@dataclass(frozen=True)
class World:
    campaign: Campaign
    submission: Submission
    release: Release
    job: Job
    people: dict[str, User]

    def client(self, who: str) -> Client:
        return browser(self.people.get(who))


@pytest.fixture
def world(campaign, submission, release, job, ada, ben, cleo, eve) -> World:
    return World(campaign, submission, release, job, {"ada": ada, "ben": ben, "cleo": cleo, "eve": eve})
