"""One effect per Idempotency-Key (S13), seen through a real door."""

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from marketplace.api.idempotency import LONGEST_WORK
from marketplace.models import Campaign, IdempotentRequest

from .conftest import DRAFT, caller, make_user


@pytest.fixture
def client(ada):
    return caller(ada)


def test_the_same_request_is_done_once_and_answered_alike(client):
    first = client.send("campaigns", DRAFT, key="k1")
    again = client.send("campaigns", dict(reversed(DRAFT.items())), key="k1")
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert "Idempotent-Replayed" not in first
    assert again["Idempotent-Replayed"] == "true"
    assert Campaign.objects.count() == 1


def test_another_key_is_another_request(client):
    assert (
        client.send("campaigns", DRAFT, key="k1").json() != client.send("campaigns", DRAFT, key="k2").json()
    )
    assert Campaign.objects.count() == 2


def test_without_a_key_every_call_counts(client):
    client.send("campaigns", DRAFT)
    client.send("campaigns", DRAFT)
    assert Campaign.objects.count() == 2
    assert not IdempotentRequest.objects.exists()


def test_the_same_key_with_another_body_is_422(client):
    client.send("campaigns", DRAFT, key="k1")
    answer = client.send("campaigns", {**DRAFT, "title": "Letters"}, key="k1")
    assert (answer.status_code, answer.json()["code"]) == (422, "key_reused")
    assert Campaign.objects.count() == 1


def test_the_same_key_at_another_path_of_the_door_is_422(client, ada):
    one, two = (
        client.send("campaigns", {**DRAFT, "title": title}).json()["slug"] for title in ("One", "Two")
    )
    assert client.send(f"campaigns/{one}/open", key="k1").status_code == 200
    assert client.send(f"campaigns/{two}/open", key="k1").status_code == 422
    assert Campaign.objects.get(slug=two).state == "draft"


def test_keys_of_two_people_do_not_meet(client, dan):
    client.send("campaigns", DRAFT, key="k1")
    assert caller(dan).send("campaigns", {**DRAFT, "title": "Letters"}, key="k1").status_code == 201


def test_a_refused_request_leaves_its_key_free(client):
    assert client.send("campaigns", {**DRAFT, "policy": {"no_such": 1}}, key="k1").status_code == 400
    assert client.send("campaigns", DRAFT, key="k1").status_code == 201


@pytest.mark.parametrize("key", ["x" * 101, "kéy", "a\tb"])
def test_a_malformed_key_is_400(client, key):
    assert client.send("campaigns", DRAFT, key=key.encode().decode("latin-1")).status_code == 400
    assert not Campaign.objects.exists()


def _claimed(user, **fields) -> IdempotentRequest:
    """The row that an unfinished request for DRAFT under the key k1 leaves."""
    body = hashlib.sha256(b"/api/v1/campaigns")
    body.update(b"\n\n" + json.dumps(DRAFT, sort_keys=True).encode())
    return IdempotentRequest.objects.create(
        user=user, door="POST campaigns", key="k1", body_sha256=body.hexdigest(), **fields
    )


def test_a_request_that_still_runs_makes_the_second_wait(client, ada):
    _claimed(ada, answer={"host": socket.gethostname(), "pid": os.getpid()})
    answer = client.send("campaigns", DRAFT, key="k1")
    assert (answer.status_code, answer.json()["code"]) == (409, "in_progress")
    assert answer["Retry-After"] == "1"
    assert not Campaign.objects.exists()


def test_the_claim_of_a_dead_process_is_taken_over(client, ada):
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    _claimed(ada, answer={"host": socket.gethostname(), "pid": int(child.stdout)})
    assert client.send("campaigns", DRAFT, key="k1").status_code == 201
    assert client.send("campaigns", DRAFT, key="k1")["Idempotent-Replayed"] == "true"


@pytest.mark.django_db(transaction=True)
def test_of_several_at_once_one_does_the_work():
    people = caller(make_user("ada", "sponsor"))
    start, answers = threading.Barrier(4), []

    def act():
        start.wait()
        answers.append(people.send("campaigns", DRAFT, key="k1").status_code)
        connections.close_all()

    threads = [threading.Thread(target=act) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (
        set(answers) <= {201, 409, 503} and 201 in answers
    )  # 503: SQLite in memory does not wait for a lock
    assert people.send("campaigns", DRAFT, key="k1")["Idempotent-Replayed"] == "true"
    assert Campaign.objects.count() == 1


@pytest.mark.parametrize("age,status", [(LONGEST_WORK / 2, 409), (LONGEST_WORK + timedelta(seconds=1), 201)])
def test_another_machine_s_claim_is_taken_over_only_when_too_old(client, ada, age, status):
    row = _claimed(ada, answer={"host": "elsewhere", "pid": 1})
    IdempotentRequest.objects.filter(pk=row.pk).update(created_at=timezone.now() - age)
    assert client.send("campaigns", DRAFT, key="k1").status_code == status
