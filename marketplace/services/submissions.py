"""A submission's way in: started under a consent, fed with files, completed. Every received entry becomes a row.

What a file's entries become is services.arrivals'; decoding and judging are services.validation's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from marketplace.errors import InvalidInput, KeyReused, NotAllowed, TooLarge, WrongState
from marketplace.models import Campaign, Item, Submission, User
from marketplace.services import arrivals
from marketplace.services.arrivals import ReceivedFile
from marketplace.services.queue import enqueue

__all__ = ["ReceivedFile", "complete_submission", "receive_file", "start_submission"]


def start_submission(
    campaign: Campaign,
    contributor: User,
    *,
    consent_version: int,
    idempotency_key: str = "",
    now: datetime | None = None,
) -> Submission:
    """A new submission, or the one that this key already made.

    Raises: WrongState (closed campaign), InvalidInput (consent_version is not the one in force), KeyReused.
    """
    if idempotency_key and (earlier := _find_earlier(campaign, contributor, idempotency_key)):
        return _same(earlier, consent_version)
    _require_open(campaign, now or timezone.now())
    if consent_version != campaign.consent_version:
        message = f"The consent in force is version {campaign.consent_version}; read it and agree to it."
        raise InvalidInput(message, fields={"consent_version": f"{campaign.consent_version}"})
    try:
        with transaction.atomic():
            return Submission.objects.create(
                campaign=campaign,
                contributor=contributor,
                consent_version=consent_version,
                idempotency_key=idempotency_key,
            )
    except IntegrityError:
        earlier = _find_earlier(campaign, contributor, idempotency_key)
        if earlier is None:
            raise
        return _same(earlier, consent_version)


def _find_earlier(campaign: Campaign, contributor: User, key: str) -> Submission | None:
    return Submission.objects.filter(campaign=campaign, contributor=contributor, idempotency_key=key).first()


def _same(earlier: Submission, consent_version: int) -> Submission:
    if earlier.consent_version != consent_version:
        raise KeyReused
    return earlier


def _require_open(campaign: Campaign, now: datetime) -> None:
    if not campaign.accepts_uploads(now):
        ended = campaign.state == Campaign.State.OPEN
        state = "past its deadline" if ended else campaign.get_state_display().lower()
        raise WrongState(f"The campaign is {state}; it takes no submissions.", code="campaign_closed")


def receive_file(
    submission: Submission, file: ReceivedFile, *, by: User, now: datetime | None = None
) -> list[Item]:
    """Every entry of the file as an Item row, all or none; the same bytes as a live item become a duplicate.

    Raises: NotAllowed, WrongState (completed, or the campaign closed), InvalidInput (file), TooLarge.
    """
    if submission.contributor_id != by.pk:
        raise NotAllowed("Only the contributor adds files to a submission.")
    campaign = submission.campaign
    _require_open(campaign, now or timezone.now())
    _require_receiving(submission)
    with _on_disk(file) as path:
        size = path.stat().st_size
        if size > settings.HYDRA_MAX_FILE_BYTES:
            message = f"The file has {size:,} bytes; the limit is {settings.HYDRA_MAX_FILE_BYTES:,}."
            raise TooLarge(message, fields={"file": message})
        items = arrivals.read_items(campaign, file, path)
    with transaction.atomic():
        locked = Submission.objects.select_for_update().get(pk=submission.pk)
        _require_receiving(locked)
        return arrivals.insert(locked, items)


def _require_receiving(submission: Submission) -> None:
    if submission.state != Submission.State.RECEIVING:
        raise WrongState("The submission was completed; start another one for more files.")


@contextmanager
def _on_disk(file: ReceivedFile) -> Iterator[Path]:
    if file.path is not None:
        yield file.path
        return
    with NamedTemporaryFile(prefix="hydra-upload-") as temporary:
        temporary.write(file.content or b"")
        temporary.flush()
        yield Path(temporary.name)


def complete_submission(submission: Submission, *, by: User, now: datetime | None = None) -> Submission:
    """Ends receiving and queues the validation. Completing twice changes nothing.

    Raises: NotAllowed; InvalidInput where nothing was received.
    """
    if submission.contributor_id != by.pk:
        raise NotAllowed("Only the contributor completes a submission.")
    if not submission.items.exists():
        raise InvalidInput("Nothing was received yet; add files first.", code="empty_submission")
    with transaction.atomic():
        receiving = Submission.objects.filter(pk=submission.pk, state=Submission.State.RECEIVING)
        if receiving.update(state=Submission.State.QUEUED, completed_at=now or timezone.now()):
            enqueue("validate_submission", submission.pk)
    submission.refresh_from_db()
    return submission
