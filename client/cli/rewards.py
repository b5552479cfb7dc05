"""hydra balance, statement, unlock, totals."""

from argparse import ArgumentParser
from itertools import islice

from client.cli.output import Cli, Subcommands, count, moment, money
from client.money import to_hyd, to_nano
from client.transport import JSON

MEANINGS = (
    ("pending", "rewards decided, not yet confirmed on the ledger"),
    ("available", "confirmed tokens, free to unlock"),
    ("unlocking", "on the way from tokens to credits"),
    ("credits", "free to spend on jobs"),
    ("locked", "held for jobs that are not over"),
    ("spent", "used by jobs"),
    ("earned_total", "all rewards and training payments ever"),
    ("on_chain", "rewards confirmed on the contract"),
)


def add_commands(commands: Subcommands, common: ArgumentParser) -> None:
    parser = commands.add_parser("balance", parents=[common], help="show your tokens and credits")
    parser.set_defaults(command=balance)
    parser = commands.add_parser(
        "statement", parents=[common], help="list what changed your balances, newest first"
    )
    parser.add_argument("--kind", default="", help="only lines of this kind")
    parser.add_argument("--limit", type=count, default=50, metavar="N", help="at most N lines (default: 50)")
    parser.set_defaults(command=statement)
    parser = commands.add_parser("unlock", parents=[common], help="turn tokens into credits, one to one")
    parser.add_argument("amount", help="in HYD, such as 20 or 0.5")
    parser.set_defaults(command=unlock)
    parser = commands.add_parser(
        "totals", parents=[common], help="show the books' totals beside the contract's"
    )
    parser.set_defaults(command=totals)


def balance(cli: Cli) -> None:
    shown = cli.hydra.rewards.balance()
    cli.out.result(shown, lambda: _print(cli, shown))


def statement(cli: Cli) -> None:
    lines = [*islice(cli.hydra.rewards.statement(kind=cli.options.kind), cli.options.limit)]
    rows = [
        (moment(one["at"]), one["kind"], one["account"], one["amount"]["hyd"], one["status"], one["label_ref"],
         (one["tx_hash"] or "")[:14])
        for one in lines
    ]  # fmt: skip
    titles = ("AT", "KIND", "BALANCE", "HYD", "STATUS", "FOR", "TRANSACTION")
    cli.out.result(lines, lambda: cli.out.table(titles, rows, empty="Nothing has changed your balances yet."))


def unlock(cli: Cli) -> None:
    answer = cli.hydra.rewards.unlock(to_nano(cli.options.amount))

    def show() -> None:
        cli.out.line(f"Unlocking {money(answer['amount'])}: {answer['status']}.")
        _print(cli, answer["balance"])

    cli.out.result(answer, show)


def totals(cli: Cli) -> None:
    answer = cli.hydra.rewards.totals()
    names = [*answer["books"], *(name for name in answer["chain"] if name not in answer["books"])]
    rows = [(name, *(_amount(answer[side].get(name), name) for side in ("books", "chain"))) for name in names]
    cli.out.result(
        answer,
        lambda: cli.out.table(("HYD", "BOOKS", f"CONTRACT AT BLOCK {answer['block']}"), rows, empty=""),
    )


def _amount(value: int | None, name: str) -> str:
    if value is None:
        return "-"
    return str(value) if name.startswith("next") else to_hyd(value)


def _print(cli: Cli, shown: JSON) -> None:
    rows = [(name.replace("_", " "), shown[name]["hyd"], meaning) for name, meaning in MEANINGS]
    cli.out.table(("", "HYD", ""), rows, empty="")
