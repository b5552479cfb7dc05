"""Small worlds for the services' tests: members, campaigns, pictures of two kinds, and money from the real books."""

import io
import zipfile
from collections.abc import Sequence

import numpy as np
from django.contrib.auth.models import Permission
from PIL import Image

from ledger import service as ledger
from marketplace.models import Campaign, Item, Submission, User
from marketplace.services import campaigns, submissions
from marketplace.services.submissions import ReceivedFile

HYD = 10**9
PASSWORD = "correct-horse-9"


def make_user(name: str, *permissions: str) -> User:
    user = User.objects.create_user(f"{name}@example.org", PASSWORD, display_name=name)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def make_campaign(owner: User, slug: str, *, budget: int = 1000 * HYD, **fields) -> Campaign:
    """An open campaign with money in it."""
    terms = {"modality": "image", "state": "open", "classes": ["cross", "ring"], **fields}
    campaign = Campaign.objects.create(slug=slug, title=slug.title(), owner=owner, **terms)
    if budget:
        campaigns.fund_campaign(campaign, budget, by=owner, key="first")
    return campaign


def picture(kind: str, seed: int, *, side: int = 28, channels: int = 1, form: str = "PNG") -> bytes:
    """A drawn cross or ring with its own noise: alike within a kind, never the same twice."""
    random = np.random.default_rng([seed, kind == "ring"])
    y, x = np.mgrid[0:side, 0:side] - side / 2 + random.uniform(-2, 2, (2, 1, 1))
    width = side / random.uniform(9, 13)
    if kind == "ring":
        ink = np.abs(np.hypot(x, y) - side * random.uniform(0.25, 0.35)) < width
    else:
        turn = random.uniform(-0.4, 0.4)
        across, along = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
        ink = (np.minimum(np.abs(across), np.abs(along)) < width / 2) & (np.hypot(x, y) < side * 0.42)
    grey = np.clip(ink * random.uniform(170, 230) + random.uniform(0, 40, (side, side)), 0, 255).astype(
        np.uint8
    )
    image = Image.fromarray(grey if channels == 1 else np.stack([grey] * 3, axis=-1))
    buffer = io.BytesIO()
    image.save(buffer, form)
    return buffer.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def pictures(numbers: Sequence[int], *, wrong: Sequence[int] = ()) -> bytes:
    """An archive with a folder per class: even numbers are crosses, odd ones rings; `wrong` ones lie in the other."""
    kinds = ("cross", "ring")
    return zipped({f"{kinds[(n + (n in wrong)) % 2]}/{n}.png": picture(kinds[n % 2], n) for n in numbers})


def send(campaign: Campaign, by: User, content: bytes, name: str = "set.zip", **options) -> Submission:
    """A completed submission of one file."""
    submission = submissions.start_submission(campaign, by, consent_version=campaign.consent_version)
    submissions.receive_file(submission, ReceivedFile(name, content=content, **options), by=by)
    return submissions.complete_submission(submission, by=by)


def judge(submission: Submission) -> Submission:
    """Validates as the task would."""
    from marketplace.services.validation import validate_submission

    assert validate_submission(submission.pk)
    submission.refresh_from_db()
    return submission


def states(submission: Submission) -> dict[str, int]:
    """How many items are in each state, without the empty ones."""
    found: dict[str, int] = {}
    for state in Item.objects.filter(submission=submission).values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found


def accepted_items(campaign: Campaign, by: User, count: int, **fields) -> list[Item]:
    """Accepted without validation or reward, for tests of what comes after."""
    submission = Submission.objects.create(
        campaign=campaign, contributor=by, consent_version=1, state="judged"
    )
    rows = [
        Item(
            campaign=campaign, submission=submission, contributor=by, position=number, name=f"{number}",
            state="accepted", label=campaign.classes[number % len(campaign.classes)], text=f"text {number}",
            content_sha256=f"{number:064x}", **fields,
        )
        for number in range(count)
    ]  # fmt: skip
    return Item.objects.bulk_create(rows)


def review_item(campaign: Campaign, by: User, position: int = 0, **fields) -> Item:
    """An item that waits for a person."""
    submission = Submission.objects.create(
        campaign=campaign, contributor=by, consent_version=1, state="judged"
    )
    return Item.objects.create(
        campaign=campaign, submission=submission, contributor=by, position=position, name=f"item {position}",
        label=campaign.classes[0], state="pending", needs_review=True, content_sha256=f"{submission.pk:064x}", **fields,
    )  # fmt: skip


def budget_of(campaign: Campaign) -> ledger.Budget:
    return ledger.campaign_budget(campaign.ledger_ref)
