"""Kill -9 of any one process while the loop runs: nothing is lost, nothing is paid twice.

The real stack under its supervisor, driven through HTTP; each process is killed while it has something in its hands.
"""

import json
import os
import random
import signal
import socket
import subprocess
import threading
import time

import pytest

from config.demo import campaigns, training
from config.demo.campaigns import DIGITS, Truth
from config.demo.contributing import await_validation, moderate
from config.demo.data import draw, load_digits
from config.demo.people import HYD, Person, wait_for
from config.processes import Supervisor
from config.stack import ROOT, Stack
from config.supervisor import bring_up, hold, manage, open_supervisor

pytestmark = pytest.mark.journey
SINGLE, ZIPPED = 40, 360
JOB = {"steps": 60, "batch_size": 48, "seed": 3}


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """The embedded stack (or what DATABASE_URL and BROKER_URL name) in a folder of its own."""
    var = tmp_path_factory.mktemp("stack")
    names = ("HYDRA_WEB_PORT", "HYDRA_BROKER_PORT", "HYDRA_CHAIN_PORT", "HYDRA_BACKBONE_PORT")
    own = {name: str(port) for name, port in zip(names, free_ports(4), strict=True)}
    outer = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DJANGO_SETTINGS_MODULE", "HYDRA_VAR"}
    }
    stack = Stack.read({**outer, **own, "HYDRA_VAR": str(var), "HYDRA_VALIDATION_STALE_S": "8"})
    with hold(var), open(os.devnull, "w") as quiet:
        supervisor = open_supervisor(stack, quiet)
        try:
            bring_up(stack, supervisor)
            threading.Thread(target=supervisor.watch, daemon=True).start()
            yield stack, supervisor
        finally:
            supervisor.stop()
            for person in CONNECTIONS:
                person.http.close()


def kill(supervisor: Supervisor, name: str) -> None:
    """SIGKILL, then waits until the supervisor has started it again."""
    victim = supervisor.running[name].handle
    os.kill(victim.pid, signal.SIGKILL)
    wait_for(
        f"{name} to be started again",
        lambda: supervisor.running[name].handle is not victim or None,
        limit_s=30,
    )


CONNECTIONS: list[Person] = []


def join(stack: Stack, supervisor: Supervisor, name: str, role: str = "") -> Person:
    person = Person.join(stack.url, name)
    CONNECTIONS.append(person)
    if role:
        manage(stack, supervisor, "grant_role", person.email, role)
    if role == "Moderators":
        person.take_token(("read", "write", "moderate"))
    return person


def totals(stack: Stack, supervisor: Supervisor) -> dict:
    return json.loads(manage(stack, supervisor, "ledger_totals", "--json"))["contract"]


@pytest.fixture(scope="module")
def campaign(running):
    sponsor = join(*running, "sponsor", "Sponsors")
    sponsor.post("campaigns", campaigns.draft(DIGITS, []))
    sponsor.post(f"campaigns/{DIGITS}/fund", {"amount_nano": 5_000 * HYD}, key="fund")
    sponsor.post(f"campaigns/{DIGITS}/open")
    return sponsor


class Looker:
    """Stands for the demo's cast where only the truth about digits is needed."""

    def __init__(self, digits) -> None:
        self.truth = Truth(digits, [])


def test_the_loop_survives_the_death_of_each_of_its_processes(running, campaign):
    stack, supervisor = running
    ann, moderator = join(*running, "ann"), join(*running, "mo", "Moderators")
    digits = load_digits()
    examples = draw(digits, SINGLE + ZIPPED, random.Random(5), skip=set())

    send_while_web_dies(supervisor, ann, examples[:SINGLE])
    ann.contribute(DIGITS, [("digits.zip", campaigns.folder_zip(examples[SINGLE:]), "")])
    validate_while_the_worker_dies(supervisor, ann)
    settle_while_the_ledger_dies(supervisor, ann, moderator, Looker(digits))

    wait_for("news of the settlement", lambda: all_settled(ann) or None)
    items = ann.items(DIGITS)
    assert len(items) == SINGLE + ZIPPED, "every file is one item, none twice and none missing"
    earned = sum(item["reward"]["nano"] for item in items)
    contract = totals(stack, supervisor)
    assert contract["recorded"] == earned > 0
    assert ann.balance()["available"] == earned

    training.unlock_all(ann)
    job = train_while_a_volunteer_dies(stack, supervisor, ann, campaign)
    rounds = [one["step"] for one in ann.each(f"jobs/{job['id']}/rounds")]
    assert sorted(rounds) == list(range(JOB["steps"]))
    assert job["state"] == "completed"
    assert job["samples"] == JOB["steps"] * JOB["batch_size"]
    contract = totals(stack, supervisor)
    assert contract["used"] == job["charged"]["nano"]
    assert contract["paid"] == job["charged"]["nano"] * 9 // 10
    books = subprocess.run(
        [stack.python, "manage.py", "reconcile"],
        cwd=ROOT,
        env=stack.environment,
        capture_output=True,
        text=True,
    )
    assert books.returncode == 0, books.stdout + books.stderr


def all_settled(ann: Person) -> bool:
    return all(
        item["reward_status"] == "settled" for item in ann.items(DIGITS) if item["state"] == "accepted"
    )


def send_while_web_dies(supervisor: Supervisor, ann: Person, examples: list) -> None:
    """One submission of single files; the web server dies while files are on their way. Person sends again, with its keys."""
    killer = threading.Timer(0.4, kill, (supervisor, "web"))
    killer.start()
    submission = ann.contribute(DIGITS, campaigns.single_files(examples))
    killer.join()
    assert ann.counts(submission)["received"] == SINGLE


def validate_while_the_worker_dies(supervisor: Supervisor, ann: Person) -> None:
    submission = ann.submissions[DIGITS][-1]
    wait_for(
        "validation to begin",
        lambda: ann.get(f"submissions/{submission}")["state"] != "queued" or None,
        pause_s=0.02,
    )
    kill(supervisor, "worker")
    await_validation(ann)


def settle_while_the_ledger_dies(
    supervisor: Supervisor, ann: Person, moderator: Person, looker: Looker
) -> None:
    """Rewards are on their way in many small batches while sender, indexer and chain are killed again and again."""
    chance = random.Random(11)
    moderate(moderator, looker)  # type: ignore[arg-type]
    for name in ("sender", "chain", "indexer", "chain", "sender"):
        time.sleep(chance.uniform(0.1, 0.6))
        kill(supervisor, name)
    wait_for("settlement", lambda: ann.balance()["pending"] == 0 or None, limit_s=120)


def train_while_a_volunteer_dies(stack: Stack, supervisor: Supervisor, ann: Person, sponsor: Person) -> dict:
    release = training.build_release(sponsor, DIGITS)
    price = JOB["steps"] * JOB["batch_size"] * 1_000_000
    wish = {
        "release": release,
        "recipe": training.RECIPE,
        "parameters": JOB,
        "strategy": "sync",
        "credit_limit_nano": price,
    }
    job = ann.post("jobs", wish, key="job")["id"]
    names = [
        training.start_volunteer(stack, supervisor, join(stack, supervisor, one)) for one in ("ada", "ben")
    ]
    training.await_step(ann, job, 15)
    kill(supervisor, names[0])
    training.await_step(ann, job, 30)
    kill(supervisor, "backbone")
    training.await_end(ann, job)
    return ann.get(f"jobs/{job}")
