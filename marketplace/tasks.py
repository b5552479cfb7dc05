"""Celery's doors to the services: each task is one call. All may run twice, late, or again after a crash.

`beat` finds what a broker or a worker lost: the rows say what is to be done, a message only says it sooner.
"""

from celery import shared_task

from marketplace.services import jobs, recovery, releases, rewards, validation


@shared_task
def validate_submission(submission_id: int) -> bool:
    return validation.validate_submission(submission_id)


@shared_task
def build_release(release_id: int) -> bool:
    return releases.write_release(release_id)


@shared_task
def accept_waiting(campaign_id: int) -> int:
    return rewards.accept_waiting(campaign_id)


@shared_task
def apply_settlements() -> int:
    return rewards.apply_settlements()


@shared_task
def advance_jobs() -> int:
    return jobs.advance_jobs()


@shared_task
def requeue_stale() -> int:
    return recovery.requeue_stale()


@shared_task
def forget_answers() -> int:
    return recovery.forget_answers()
