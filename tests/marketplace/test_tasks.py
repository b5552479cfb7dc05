"""Tasks are thin, are sent after the commit only, and the beat names tasks that exist (S16)."""

from datetime import timedelta

import pytest
from celery import current_app
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from marketplace import tasks
from marketplace.models import IdempotentRequest, Release
from marketplace.services import recovery
from marketplace.services.queue import enqueue
from tests.marketplace.world import accepted_items, picture, send


@pytest.fixture
def sent(monkeypatch) -> list[tuple]:
    """What would have gone to the broker."""
    messages: list[tuple] = []
    monkeypatch.setattr(current_app, "send_task", lambda name, args, **_: messages.append((name, *args)))
    return messages


def test_the_beat_names_tasks_that_exist():
    names = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert names == {
        f"marketplace.tasks.{name}"
        for name in ("apply_settlements", "advance_jobs", "requeue_stale", "forget_answers")
    }
    assert names <= current_app.tasks.keys()


def test_every_task_that_services_enqueue_exists(shapes, ben, sent, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        submission = send(shapes, ben, picture("ring", 1), "a.png", label="ring")
        accepted_items(shapes, ben, 1)
        tasks.releases.build_release(shapes, by=shapes.owner)
    assert sent == [
        ("marketplace.tasks.validate_submission", submission.pk),
        ("marketplace.tasks.build_release", Release.objects.get().pk),
    ]
    assert {name for name, *_ in sent} | {"marketplace.tasks.accept_waiting"} <= current_app.tasks.keys()


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_request_leaves_no_message(sent):
    with transaction.atomic():
        enqueue("validate_submission", 1)
        transaction.set_rollback(True)
    assert not sent
    with transaction.atomic():
        enqueue("validate_submission", 1)
        assert not sent
    assert sent == [("marketplace.tasks.validate_submission", 1)]


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_down_fails_no_request(monkeypatch, caplog):
    def refuse(*arguments, **options):
        raise ConnectionError("no broker")

    monkeypatch.setattr(current_app, "send_task", refuse)
    with transaction.atomic():
        enqueue("validate_submission", 1)
    assert "the beat will queue it" in caplog.text


def test_tasks_do_the_work(shapes, ben):
    submission = send(shapes, ben, picture("ring", 1), "a.png", label="ring")
    assert tasks.validate_submission(submission.pk) and not tasks.validate_submission(submission.pk)
    release = tasks.releases.build_release(shapes, by=shapes.owner)
    assert tasks.build_release(release.pk)
    assert tasks.accept_waiting(shapes.pk) == tasks.apply_settlements() == tasks.advance_jobs() == 0
    assert tasks.requeue_stale() == 0


def test_answers_to_repeated_requests_are_kept_for_a_month(ben):
    now = timezone.now()
    for key, days in (("old", 31), ("young", 29)):
        row = IdempotentRequest.objects.create(user=ben, door="jobs", key=key, body_sha256="0" * 64)
        IdempotentRequest.objects.filter(pk=row.pk).update(created_at=now - timedelta(days=days))
    assert recovery.forget_answers(now=now) == 1
    assert IdempotentRequest.objects.get().key == "young"
