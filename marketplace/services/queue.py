"""Hands work to Celery by name after the transaction has committed. What gets lost is found again by the beat's tasks."""

import logging
from functools import partial

from celery import current_app
from django.db import transaction

log = logging.getLogger("marketplace.queue")


def enqueue(task: str, *arguments: object, expires_s: float | None = None) -> None:
    """Sends `marketplace.tasks.<task>` once the surrounding transaction commits; never where it rolls back.

    A broker that is down is logged, not raised: the row says what is to be done, and the beat sends it again.
    `expires_s` for what is sent again and again: a message that waited longer is dropped unread.
    """
    transaction.on_commit(partial(_send, task, arguments, expires_s))


def _send(task: str, arguments: tuple[object, ...], expires_s: float | None) -> None:
    try:
        current_app.send_task(
            f"marketplace.tasks.{task}", args=list(arguments), retry=False, expires=expires_s
        )
    except Exception as error:  # noqa: BLE001 - kombu raises whatever its transport raises
        log.warning("%s%r could not be queued now (%s); the beat will queue it", task, arguments, error)
