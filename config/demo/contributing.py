"""The demo's first half: campaigns are opened, people send data, a moderator decides, the ledger pays."""

import io
from collections import Counter
from typing import Any

import numpy as np
from PIL import Image

from config.demo import campaigns
from config.demo.campaigns import CENSUS, DIGITS, MAILS, Cast
from config.demo.claims import Claims, print_rows
from config.demo.data import load_census
from config.demo.people import Person, hyd, wait_for

CHEATS_AT_MOST = 0.10
FIRST_DIGITS = 450


def open_campaigns(sponsor: Person) -> None:
    census = load_census()
    for slug in (DIGITS, MAILS, CENSUS):
        made = sponsor.post("campaigns", campaigns.draft(slug, census))
        sponsor.post(
            f"campaigns/{made['slug']}/fund", {"amount_nano": campaigns.BUDGET[slug]}, key=f"fund-{slug}"
        )
        sponsor.post(f"campaigns/{made['slug']}/open")
        print(f"  {made['title']}: {made['modality']}, budget {hyd(campaigns.BUDGET[slug])} HYD", flush=True)


def contribute_honestly(honest: Person, cast: Cast) -> None:
    """In two lots each: the first makes the campaign's basis, against which the second is judged."""
    cut = {DIGITS: FIRST_DIGITS, CENSUS: len(cast.honest_rows) // 2, MAILS: len(cast.honest_mails) // 2}
    for number in (1, 2):
        digits, rows, mails = (
            part[:at] if number == 1 else part[at:]
            for part, at in (
                (cast.honest_digits, cut[DIGITS]),
                (cast.honest_rows, cut[CENSUS]),
                (cast.honest_mails, cut[MAILS]),
            )
        )
        honest.contribute(DIGITS, [(f"digits-{number}.zip", campaigns.folder_zip(digits), "")])
        honest.contribute(MAILS, [(f"mails-{number}.jsonl", campaigns.jsonl(mails), "")])
        honest.contribute(CENSUS, [(f"census-{number}.csv", campaigns.rows_csv(rows), "")])
        await_validation(honest)


def cheat(copier: Person, flipper: Person, cast: Cast) -> None:
    copier.contribute(DIGITS, cast.copies)
    flipper.contribute(DIGITS, campaigns.single_files(cast.flipped_digits))


def await_validation(person: Person) -> None:
    """Waits until every submission of this person has been validated."""
    waiting = [one for sent in person.submissions.values() for one in sent]

    def judged() -> bool | None:
        return all(person.get(f"submissions/{one}")["state"] == "judged" for one in waiting) or None

    wait_for(f"validation of what {person.name} sent", judged, limit_s=180)


def moderate(moderator: Person, cast: Cast) -> Counter[str]:
    """Decides everything in the queue as a person would who looks at each item.

    The demo's moderator knows what a picture shows by finding it among all known digits, and a mail by its text.
    Near-duplicates are refused, whatever their label. Rows are taken as declared: nobody can see an income.
    """
    decided: Counter[str] = Counter()
    while queue := list(moderator.each("moderation/queue")):
        groups: dict[tuple[str, str], list[str]] = {}
        for item in queue:
            groups.setdefault(look_at(moderator, item, cast), []).append(item["id"])
        for (outcome, reason), ids in groups.items():
            for start in range(0, len(ids), 200):
                moderator.post(
                    "moderation/verdicts",
                    {"items": ids[start : start + 200], "outcome": outcome, "reason": reason},
                )
            decided[outcome] += len(ids)
    return decided


def look_at(moderator: Person, item: dict[str, Any], cast: Cast) -> tuple[str, str]:
    detail = moderator.get(f"items/{item['id']}")
    near = [
        one
        for one in detail["evidence"]
        if one["validator"].startswith("duplicates") and one["outcome"] != "ok"
    ]
    if near and (near[-1]["data"] or {}).get("kind"):
        return "rejected", "The same picture as another item, saved again."
    seen = what_it_shows(moderator, item, detail, cast)
    if seen is None or seen == item["label"]:
        return "accepted", "The label fits what it shows."
    return "rejected", "It does not show what its label says."


def what_it_shows(moderator: Person, item: dict[str, Any], detail: dict[str, Any], cast: Cast) -> str | None:
    if item["campaign"] == DIGITS:
        image = Image.open(io.BytesIO(moderator.bytes_of(f"items/{item['id']}/content"))).convert("L")
        return cast.truth.of_digit(np.asarray(image.resize((28, 28))))
    return cast.truth.of_mail(detail["text"]) if item["campaign"] == MAILS else None


def await_settlement(people: list[Person]) -> None:
    """Waits until no reward is under way: every one is recorded on the contract and final."""

    def settled() -> bool | None:
        return all(person.balance()["pending"] == 0 for person in people) or None

    wait_for("settlement of all rewards", settled, limit_s=120)


def report_contributors(people: list[Person], claims: Claims) -> None:
    """Prints what became of everyone's items, and checks the batch equation and the cheats' income."""
    rows, income = [], {}
    for person in people:
        for campaign in person.submissions:
            counts = total_counts(person, campaign)
            items = person.items(campaign)
            quality = [item["quality"] for item in items if item["quality"] is not None]
            earned = sum(item["reward"]["nano"] for item in items)
            income[person.name, campaign] = earned / counts["received"]
            mean = f"{sum(quality) / len(quality):.2f}" if quality else "-"
            shown = [
                counts[name]
                for name in ("received", "accepted", "duplicate", "rejected", "ignored", "pending")
            ]
            rows.append((person.name, campaign, *shown, mean, bias_effect(person, campaign), hyd(earned)))
            parts = sum(counts[name] for name in ("accepted", "duplicate", "rejected", "ignored", "pending"))
            if parts != counts["received"]:
                claims.check(False, f"batch equation of {person.name} in {campaign}", str(counts))
    header = (
        "contributor",
        "campaign",
        "received",
        "accepted",
        "duplicate",
        "rejected",
        "ignored",
        "pending",
        "quality",
        "bias effect",
        "HYD",
    )
    print_rows("Contributors", header, rows)
    claims.check(
        True, "received = accepted + duplicate + rejected + ignored + pending", f"{len(rows)} contributions"
    )
    honest = income[people[0].name, DIGITS]
    for person in people[1:]:
        ratio = income[person.name, DIGITS] / honest
        claims.check(
            ratio <= CHEATS_AT_MOST,
            f"{person.name} earns at most 10 % of an honest item's income",
            f"{ratio:.1%}",
        )


def total_counts(person: Person, campaign: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for submission in person.submissions[campaign]:
        total.update(person.counts(submission))
    return total


def bias_effect(person: Person, campaign: str) -> str:
    """The measured marginal effect of this person's submissions on the campaign's balance, as the evidence states it."""
    effects = [
        f"{evidence['data']['attribute']} {evidence['data']['effect']:+.3f}"
        for submission in person.submissions[campaign]
        for evidence in person.get(f"submissions/{submission}").get("evidence", [])
        if evidence["validator"].startswith("marginal")
        and isinstance((evidence["data"] or {}).get("effect"), int | float)
    ]
    return ", ".join(effects) or "none declared"
