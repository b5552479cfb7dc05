"""The loops' manners: work without pauses, back off from what is away, end when told to; and the commands around them."""

import json
import signal
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from ledger import connect, loop
from ledger.errors import ChainUnavailable, TxRejected, WrongChain
from ledger.management.commands import ledger_totals, reconcile, run_sender
from ledger.models import SenderLease
from tests.ledger.world import HYD, reward

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def run(answers: list, monkeypatch) -> list[float]:
    """Plays the answers of a step, an exception as one that it raises; returns the pauses."""
    monkeypatch.setattr(loop, "close_old_connections", lambda: None)
    pauses: list[float] = []

    def step(now: datetime) -> int:
        assert now == NOW
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    loop.run(step, clock=lambda: NOW, sleep=pauses.append, is_over=lambda: not answers, idle_s=0.25)
    return pauses


def test_a_step_that_did_something_is_followed_at_once(monkeypatch):
    assert run([3, 0, 1, 0, 1], monkeypatch) == [0.25, 0.25]


def test_what_is_away_is_asked_ever_less_often_and_then_at_pace_again(monkeypatch):
    away = ChainUnavailable("no answer")
    answers = [away, OperationalError("locked"), TxRejected("funds"), away, away, 0, away, 1]
    assert run(answers, monkeypatch) == [0.5, 1.0, 2.0, 5.0, 5.0, 0.25, 0.5]


def test_our_own_mistakes_end_the_loop(monkeypatch):
    with pytest.raises(ZeroDivisionError):
        run([ZeroDivisionError()], monkeypatch)


def test_sigterm_ends_the_loop_after_the_step():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        stop = loop.Stop().listen()
        assert not stop.is_set()
        signal.raise_signal(signal.SIGTERM)
        assert stop.is_set()
        stop.wait(60)  # returns at once
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.fixture
def on_chain(funded, monkeypatch):
    for module in (ledger_totals, reconcile):
        monkeypatch.setattr(module, "open_chain", lambda: funded.chain)
    reward()
    funded.settle()
    return funded


def test_totals_are_printed_as_json(on_chain):
    out = StringIO()
    call_command("ledger_totals", "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert (
        report["contract"]["recorded"]
        == report["indexed"]["recorded"]
        == report["books"]["available"]
        == 10 * HYD
    )
    assert report["block"] == report["indexed_block"] == 1


def test_totals_are_printed_for_people(on_chain):
    out = StringIO()
    call_command("ledger_totals", stdout=out)
    assert "  recorded" in out.getvalue()


def test_reconcile_says_that_all_agree(on_chain):
    out = StringIO()
    call_command("reconcile", stdout=out)
    assert out.getvalue() == "Contract, books and outbox agree.\n"


def test_reconcile_exits_with_1_on_a_difference(on_chain):
    on_chain.chain.state.recorded += 1
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("reconcile", "--json", stdout=out)
    assert ended.value.code == 1
    assert {finding["code"] for finding in json.loads(out.getvalue())} == {"contract"}


def test_reconcile_exits_with_2_when_it_could_not_look(on_chain):
    on_chain.chain.is_down = True
    err = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("reconcile", stderr=err)
    assert ended.value.code == 2
    assert "Could not reconcile" in err.getvalue()


@pytest.mark.parametrize("command", ["run_sender", "run_indexer", "ledger_totals"])
def test_without_a_deployment_the_commands_say_so(db, settings, tmp_path, command):
    settings.HYDRA_CHAIN_DIR = tmp_path
    with pytest.raises(CommandError, match="deploy"):
        call_command(command)


def test_the_sender_gives_its_lease_back_when_it_ends(funded, monkeypatch):
    monkeypatch.setattr(loop, "close_old_connections", lambda: None)  # it would close the test's transaction
    monkeypatch.setattr(run_sender, "open_sender", lambda: funded.sender)
    monkeypatch.setattr(run_sender.loop.Stop, "listen", lambda self: self)
    steps = []
    original = funded.sender.step

    def step(now):
        steps.append(now)
        return original(now)

    monkeypatch.setattr(funded.sender, "step", step)
    monkeypatch.setattr(run_sender.loop.Stop, "is_set", lambda self: len(steps) >= 2)
    call_command("run_sender", "--idle-s", "0")
    assert SenderLease.objects.get().holder == ""


def test_opening_without_a_deployment_names_what_is_missing(settings, tmp_path):
    settings.HYDRA_CHAIN_DIR = tmp_path
    with pytest.raises(WrongChain):
        connect.open_chain()
