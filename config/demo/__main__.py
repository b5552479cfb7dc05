"""Runs the demo: `python -m config.demo [--seed N]`. Exit code 0 only if every claim holds."""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from config.demo import contributing, training
from config.demo.campaigns import DIGITS, Cast
from config.demo.claims import Claims, print_rows
from config.demo.data import DataMissing
from config.demo.people import PASSWORD, Person, Refused, TookTooLong, hyd
from config.env import SettingError
from config.processes import StartError, Supervisor
from config.stack import ROOT, Stack
from config.supervisor import AlreadyRunning, bring_up, hold, manage, open_supervisor


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m config.demo", description=__doc__)
    parser.add_argument(
        "--seed", type=int, default=1, help="draws other people's items and flips (default: 1)"
    )
    parser.add_argument(
        "--logs", action="store_true", help="print the stack's logs too (they are always in var/demo/log)"
    )
    options = parser.parse_args(argv)
    try:
        return run(options.seed, logs=options.logs)
    except (AlreadyRunning, DataMissing, Refused, SettingError, StartError, TookTooLong) as error:
        print(f"demo: {error}", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f"demo: {error}\n{error.stderr}", file=sys.stderr)
    return 1


def run(seed: int, *, logs: bool) -> int:
    var = Path(os.environ.get("HYDRA_VAR") or ROOT / "var" / "demo")
    stack = Stack.read({**os.environ, "HYDRA_VAR": str(var)})
    with hold(var):
        clear(var)
        stream = sys.stdout if logs else open(os.devnull, "w")  # noqa: SIM115 - lives as long as the process
        supervisor = open_supervisor(stack, stream)
        started = time.monotonic()
        try:
            heading(f"Starting the stack (seed {seed})")
            bring_up(stack, supervisor)
            threading.Thread(target=supervisor.watch, daemon=True).start()
            claims = tell(stack, supervisor, seed)
            claims.print_table()
            print(f"The demo took {time.monotonic() - started:.0f} s after set-up.", flush=True)
            if claims.all_hold and os.environ.get("DEMO_EXIT") != "1":
                stay(stack)
            return 0 if claims.all_hold else 1
        finally:
            supervisor.stop()


def clear(var: Path) -> None:
    """Removes an earlier demo's state (the lock's folder stays: we hold it)."""
    for path in var.iterdir():
        if path.name == "run":
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def tell(stack: Stack, supervisor: Supervisor, seed: int) -> Claims:
    claims = Claims()
    heading("People join")
    people = {
        name: Person.join(stack.url, name)
        for name in ("honest", "copier", "flipper", "penniless", "ada", "ben", "cyd")
    }
    sponsor, moderator = join_with_roles(stack, supervisor)
    honest, copier, flipper = people["honest"], people["copier"], people["flipper"]
    cast = Cast.draw(seed)

    heading("Campaigns open")
    contributing.open_campaigns(sponsor)

    heading("An honest contributor uploads; validators judge; a moderator decides what they doubt")
    contributing.contribute_honestly(honest, cast)
    contributing.await_validation(honest)
    print(
        f"  the moderator decided: {dict(contributing.moderate(moderator, cast)) or 'nothing was doubtful'}"
    )

    heading("One re-uploads others' pictures, one flips labels")
    contributing.cheat(copier, flipper, cast)
    for cheat in (copier, flipper):
        contributing.await_validation(cheat)
    print(
        f"  the moderator decided: {dict(contributing.moderate(moderator, cast)) or 'nothing was doubtful'}"
    )

    heading("The ledger pays")
    contributing.await_settlement([honest, copier, flipper])
    contributing.report_contributors([honest, copier, flipper], claims)
    report_contract(stack, supervisor)

    heading("Credits pay for a job")
    train(stack, supervisor, people, sponsor, claims)
    check_books(stack, supervisor, claims)
    return claims


def join_with_roles(stack: Stack, supervisor: Supervisor) -> tuple[Person, Person]:
    sponsor, moderator = Person.join(stack.url, "sponsor"), Person.join(stack.url, "moderator")
    manage(stack, supervisor, "grant_role", sponsor.email, "Sponsors")
    manage(stack, supervisor, "grant_role", moderator.email, "Moderators")
    moderator.take_token(("read", "write", "moderate"))
    print(f"  accounts NAME@demo.example with the password {PASSWORD!r}", flush=True)
    return sponsor, moderator


def train(
    stack: Stack, supervisor: Supervisor, people: dict[str, Person], sponsor: Person, claims: Claims
) -> None:
    honest, owners = people["honest"], [people[name] for name in ("ada", "ben", "cyd")]
    release = training.build_release(sponsor, DIGITS)
    price = training.price_of_job(honest)
    training.check_refusal(people["penniless"], release, price, claims)
    print(
        f"  {honest.name} unlocks {hyd(training.unlock_all(honest))} credits; the job locks {hyd(price)}",
        flush=True,
    )
    job = honest.post("jobs", training.job_wish(release, price), key="digits-job")["id"]

    ada, ben, cyd = owners
    pcs = {ada.name: training.start_volunteer(stack, supervisor, ada)}
    pcs[ben.name] = training.start_volunteer(stack, supervisor, ben, python=str(training.WORKER_PYTHON))
    step = training.await_step(honest, job, training.KILL_AT)
    training.kill(supervisor, pcs[ada.name])
    print(
        f"  {pcs[ada.name]} was killed (SIGKILL) at step {step}; the supervisor starts it again, and it catches up",
        flush=True,
    )
    training.await_step(honest, job, training.JOIN_AT)
    pcs[cyd.name] = training.start_volunteer(stack, supervisor, cyd)
    print(f"  {pcs[cyd.name]} joins late", flush=True)
    ended = training.await_end(honest, job)

    alone = training.start_one_process(stack, release)
    others = training.start_other_jobs(honest, sponsor)
    training.check_rounds(honest, job, ended, claims)
    training.check_batches(honest, [people[name] for name in ("honest", "copier", "flipper")], job, claims)
    training.check_against_one_process(alone, ended, claims)
    all_ended = [ended, *training.check_other_jobs(honest, others, claims)]
    contributing.await_settlement(owners)
    training.report_earnings(owners, all_ended, pcs, claims)
    training.fetch_checkpoint(honest, job, stack.var / "downloads", claims)


def report_contract(stack: Stack, supervisor: Supervisor) -> None:
    totals = json.loads(manage(stack, supervisor, "ledger_totals", "--json"))
    rows = [
        (name, hyd(amount))
        for name, amount in totals["contract"].items()
        if name not in {"next_number", "batches"}
    ]
    print_rows(
        f"The contract's own totals, read from the chain at block {totals['block']}", ("total", "HYD"), rows
    )


def check_books(stack: Stack, supervisor: Supervisor, claims: Claims) -> None:
    report_contract(stack, supervisor)
    answer = subprocess.run(
        [stack.python, "manage.py", "reconcile"],
        cwd=ROOT,
        env=stack.environment,
        capture_output=True,
        text=True,
    )
    last = (answer.stdout.strip().splitlines() or [answer.stderr.strip()])[-1]
    claims.check(answer.returncode == 0, "books = chain", last)


def stay(stack: Stack) -> None:
    print(f"The portal runs at http://localhost:{stack.ports.web} (stop: Ctrl-C).", flush=True)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with contextlib.suppress(KeyboardInterrupt):
        ended.wait()


def heading(text: str) -> None:
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
