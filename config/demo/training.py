"""The demo's second half: credits are unlocked, a job is paid, volunteers train, one of them is killed, the model is fetched."""

import hashlib
import itertools
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from config.demo.campaigns import CENSUS, DIGITS, MAILS
from config.demo.claims import Claims, print_rows
from config.demo.people import Person, Refused, hyd, wait_for
from config.processes import Supervisor
from config.stack import ROOT, Stack, volunteer_environment

RECIPE = "image-cnn-small"
OTHER_JOBS = ((MAILS, "text-hashed-bow"), (CENSUS, "tabular-mlp"))
OTHER_PARAMETERS = {"steps": 80, "batch_size": 64, "seed": 7}
PARAMETERS = {"steps": 150, "batch_size": 96, "seed": 7}
KILL_AT = 40
JOIN_AT = 70
POINTS_APART = 0.02
WORKER_PYTHON = ROOT / ".venv-worker" / "bin" / "python"


def unlock_all(person: Person) -> int:
    amount = person.balance()["available"]
    person.post("rewards/unlock", {"amount_nano": amount}, key="unlock-everything")
    wait_for("the credits", lambda: person.balance()["credits"] >= amount or None)
    return amount


def build_release(sponsor: Person, campaign: str) -> str:
    release = sponsor.post(f"campaigns/{campaign}/releases")["id"]

    def ready() -> dict[str, Any] | None:
        state = sponsor.get(f"releases/{release}")
        if state["state"] == "failed":
            raise Refused(500, "release_failed", state["failure"])
        return state if state["state"] == "ready" else None

    wait_for("the release", ready)
    return release


def job_wish(
    release: str, limit: int, recipe: str = RECIPE, parameters: dict[str, int] = PARAMETERS
) -> dict[str, Any]:
    """The body of a request for a job; `limit` in nano credits."""
    return {
        "release": release,
        "recipe": recipe,
        "parameters": parameters,
        "strategy": "sync",
        "credit_limit_nano": limit,
    }


def price_of_job(person: Person, recipe: str = RECIPE, parameters: dict[str, int] = PARAMETERS) -> int:
    known = {one["name"]: one["price_per_sample"]["nano"] for one in person.get("recipes")["results"]}
    return parameters["steps"] * parameters["batch_size"] * known[recipe]


def start_other_jobs(person: Person, sponsor: Person) -> list[str]:
    """A small job on the mails and one on the census, for the same volunteers. Returns their ids."""
    jobs = []
    for campaign, recipe in OTHER_JOBS:
        release = build_release(sponsor, campaign)
        limit = price_of_job(person, recipe, OTHER_PARAMETERS)
        wish = job_wish(release, limit, recipe, OTHER_PARAMETERS)
        jobs.append(person.post("jobs", wish, key=f"{campaign}-job")["id"])
    return jobs


def check_other_jobs(person: Person, jobs: list[str], claims: Claims) -> list[dict[str, Any]]:
    ended = [await_end(person, job) for job in jobs]
    shown = ", ".join(
        f"{one['recipe']} {one['state']}, held-out accuracy {one['metrics'].get('accuracy', 0):.3f}"
        for one in ended
    )
    claims.check(all(one["state"] == "completed" for one in ended), "texts and tables train too", shown)
    return ended


def check_refusal(poor: Person, release: str, limit: int, claims: Claims) -> None:
    try:
        poor.post("jobs", job_wish(release, limit), key="no-credits")
        claims.check(False, "an account without credits is refused", "the job was taken")
    except Refused as refusal:
        claims.check(
            400 <= refusal.status < 500,
            "an account without credits is refused",
            f"{refusal.status} {refusal.code}",
        )


def start_volunteer(stack: Stack, supervisor: Supervisor, owner: Person, *, python: str = "") -> str:
    """Enrols a worker for its owner with a one-time code and starts it in its own folder. Returns its name."""
    name = f"{owner.name}-pc"
    code = owner.post("network/codes")["code"]
    supervisor.start(stack.volunteer(name, python=python, code=code))
    return name


def await_step(person: Person, job: str, step: int) -> int:
    def reached() -> int | None:
        state = person.get(f"jobs/{job}")
        return state["step"] if state["step"] >= step or state["is_over"] else None

    return wait_for(f"step {step} of the job", reached, limit_s=180, pause_s=0.1)


def kill(supervisor: Supervisor, name: str) -> None:
    os.kill(supervisor.running[name].handle.pid, signal.SIGKILL)


def await_end(person: Person, job: str) -> dict[str, Any]:
    def over() -> dict[str, Any] | None:
        state = person.get(f"jobs/{job}")
        return state if state["is_over"] else None

    return wait_for("the end of the job", over, limit_s=240)


def check_rounds(person: Person, job: str, ended: dict[str, Any], claims: Claims) -> None:
    rounds = list(person.each(f"jobs/{job}/rounds"))
    steps = sorted(one["step"] for one in rounds)
    whole = len(steps) == PARAMETERS["steps"] == len(set(steps))
    claims.check(
        ended["state"] == "completed" and whole,
        "the job finished in spite of the kill",
        f"{ended['state']}, {len(steps)} steps recorded once each",
    )
    print(f"  members: {describe_membership(rounds)}", flush=True)


def describe_membership(rounds: list[dict[str, Any]]) -> str:
    """Where the number of members changed, for example "1 from step 0, 2 from step 9"."""
    ordered = sorted(rounds, key=lambda one: one["step"])
    sizes = [(one["step"], len(one["record"]["members"])) for one in ordered]
    changes = [sizes[0], *[new for old, new in itertools.pairwise(sizes) if old[1] != new[1]]]
    return ", ".join(f"{size} from step {step}" for step, size in changes)


def check_batches(job_owner: Person, contributors: list[Person], job: str, claims: Claims) -> None:
    """Every item of every batch must be one that was accepted."""
    accepted = {
        item["id"] for person in contributors for item in person.items(DIGITS) if item["state"] == "accepted"
    }
    used: set[str] = set()
    for step in sorted(one["step"] for one in job_owner.each(f"jobs/{job}/rounds")):
        used.update(job_owner.get(f"jobs/{job}/batches/{step}")["items"])
    strangers = used - accepted
    claims.check(
        bool(used) and not strangers,
        "nothing unaccepted was in any batch",
        f"{len(used)} items used, {len(strangers)} of them not accepted",
    )


def start_one_process(stack: Stack, release: str) -> subprocess.Popen[str]:
    """The same recipe, release, batches and seed in a single process: what the network has to equal."""
    folder = stack.var / "media" / "releases" / release
    command = [
        stack.python,
        "-m",
        "trainer",
        "solo",
        "--release-dir",
        str(folder),
        "--recipe",
        RECIPE,
        "--params",
        json.dumps(PARAMETERS),
    ]
    environment = volunteer_environment(stack.outer, stack.var / "solo")
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def check_against_one_process(alone: subprocess.Popen[str], ended: dict[str, Any], claims: Claims) -> None:
    printed, faults = alone.communicate(timeout=180)
    if alone.returncode:
        raise subprocess.CalledProcessError(alone.returncode, alone.args, printed, faults)
    accuracy = json.loads(printed.strip().splitlines()[-1])["accuracy"]
    together = ended["metrics"]["accuracy"]
    claims.check(
        abs(together - accuracy) <= POINTS_APART,
        "held-out accuracy within 2 points of one process",
        f"together {together:.3f}, alone {accuracy:.3f}",
    )


def report_earnings(
    owners: list[Person], ended: list[dict[str, Any]], names: dict[str, str], claims: Claims
) -> None:
    rows, paid = [], 0
    for owner in owners:
        balance = owner.balance()
        paid += balance["earned_total"]
        rows.append((names[owner.name], owner.name, hyd(balance["earned_total"])))
    print_rows("What the volunteers earned", ("volunteer", "paid account", "HYD"), rows)
    charged = sum(one["charged"]["nano"] for one in ended)
    claims.check(
        0 < paid == charged * 9 // 10,
        "volunteers were paid 90 % of what the jobs were charged",
        f"{hyd(paid)} of {hyd(charged)}",
    )


def fetch_checkpoint(person: Person, job: str, folder: Path, claims: Claims) -> Path:
    content = person.bytes_of(f"jobs/{job}/checkpoint")
    stated = person.get(f"jobs/{job}")["checkpoint"]["sha256"]
    path = folder / "digits.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    claims.check(
        hashlib.sha256(content).hexdigest() == stated,
        "the downloaded checkpoint has the stated hash",
        f"{len(content):,} bytes, {path}",
    )
    return path
