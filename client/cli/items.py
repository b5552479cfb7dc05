"""hydra submissions, items and review."""

from argparse import ArgumentParser
from itertools import islice
from pathlib import Path
from typing import Any

from client.cli.output import Cli, Subcommands, count, moment, money
from client.cli.upload import PARTS, print_equation
from client.transport import JSON


def add_commands(commands: Subcommands, common: ArgumentParser) -> None:
    _add_submissions(commands, common)
    group = commands.add_parser("items", help="list, show, download").add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    parser = group.add_parser("list", parents=[common], help="list a submission's items")
    parser.add_argument("submission")
    parser.add_argument("--state", choices=PARTS, default="")
    parser.add_argument("--limit", type=count, default=100, metavar="N", help="at most N rows (default: 100)")
    parser.set_defaults(command=show_items)
    parser = group.add_parser("show", parents=[common], help="show one with evidence, verdicts and reward")
    parser.add_argument("item")
    parser.set_defaults(command=show_item)
    parser = group.add_parser("download", parents=[common], help="save an item's served copy")
    parser.add_argument("item")
    parser.add_argument("target", type=Path)
    parser.set_defaults(command=download_item)
    _add_review(commands, common)


def _add_submissions(commands: Subcommands, common: ArgumentParser) -> None:
    group = commands.add_parser("submissions", help="list, show").add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    parser = group.add_parser("list", parents=[common], help="list your submissions, newest first")
    parser.add_argument("--campaign", default="")
    parser.set_defaults(command=show_submissions)
    parser = group.add_parser("show", parents=[common], help="show what became of a submission")
    parser.add_argument("submission")
    parser.set_defaults(command=show_submission)


def _add_review(commands: Subcommands, common: ArgumentParser) -> None:
    group = commands.add_parser("review", help="queue, accept, reject: for moderators").add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    parser = group.add_parser("queue", parents=[common], help="list what waits, the most doubtful first")
    parser.add_argument("--campaign", default="")
    parser.add_argument("--limit", type=count, default=50, metavar="N", help="at most N rows (default: 50)")
    parser.set_defaults(command=show_queue)
    parser = group.add_parser("accept", parents=[common], help="accept items: all of them, or none")
    parser.add_argument("items", nargs="+", metavar="ITEM")
    parser.add_argument("--reason", default="Looked at and found right.")
    parser.set_defaults(command=decide, outcome="accepted")
    parser = group.add_parser("reject", parents=[common], help="reject items: all of them, or none")
    parser.add_argument("items", nargs="+", metavar="ITEM")
    parser.add_argument("--reason", required=True, help="in words; the contributor reads it")
    parser.set_defaults(command=decide, outcome="rejected")


def show_submissions(cli: Cli) -> None:
    found = [*cli.hydra.submissions.list(campaign=cli.options.campaign)]
    rows = [
        (one["id"], one["campaign"], one["state"], moment(one["created_at"]), one["counts"]["received"],
         *(one["counts"][part] for part in PARTS))
        for one in found
    ]  # fmt: skip
    titles = ("SUBMISSION", "CAMPAIGN", "STATE", "STARTED", "RECEIVED", *(part.upper() for part in PARTS))
    cli.out.result(
        found, lambda: cli.out.table(titles, rows, empty="You have sent nothing yet: hydra upload --help")
    )


def show_submission(cli: Cli) -> None:
    shown = cli.hydra.submissions.show(cli.options.submission)

    def show() -> None:
        state = shown["stage"] or shown["state"]
        cli.out.facts([("submission", shown["id"]), ("campaign", shown["campaign"]), ("state", state)])
        print_equation(cli, shown["counts"])

    cli.out.result(shown, show)


def show_items(cli: Cli) -> None:
    found = [
        *islice(
            cli.hydra.submissions.items(cli.options.submission, state=cli.options.state), cli.options.limit
        )
    ]
    rows = [
        (one["id"], one["name"], one["label"], one["state"], money(one["reward"]), one["reason"])
        for one in found
    ]
    titles = ("ITEM", "NAME", "LABEL", "STATE", "REWARD", "REASON")
    cli.out.result(found, lambda: cli.out.table(titles, rows, empty="No items in this state."))


def show_item(cli: Cli) -> None:
    item = cli.hydra.items.show(cli.options.item)

    def show() -> None:
        cli.out.facts(_facts(item))
        for finding in item["evidence"]:
            cli.out.line(f"  {finding['validator']} {finding['version']}: {finding['outcome']}, score {finding['score']:.2f}"
                         if finding["score"] is not None else f"  {finding['validator']}: {finding['outcome']}")  # fmt: skip
            for reason in finding["reasons"]:
                cli.out.line(f"    {reason}")
        for verdict in item["verdicts"]:
            cli.out.line(
                f"  {verdict['outcome']} by {verdict['by']}, {moment(verdict['created_at'])}: {verdict['reason']}"
            )

    cli.out.result(item, show)


def download_item(cli: Cli) -> None:
    path = cli.hydra.items.download(cli.options.item, cli.options.target)
    cli.out.result({"path": str(path)}, lambda: cli.out.line(str(path)))


def show_queue(cli: Cli) -> None:
    found = [*islice(cli.hydra.items.queue(campaign=cli.options.campaign), cli.options.limit)]
    rows = [(one["id"], one["campaign"], one["name"], one["label"], one["reason"]) for one in found]
    titles = ("ITEM", "CAMPAIGN", "NAME", "LABEL", "WHY")
    cli.out.result(found, lambda: cli.out.table(titles, rows, empty="Nothing waits for you."))


def decide(cli: Cli) -> None:
    answer = cli.hydra.items.decide(cli.options.items, cli.options.outcome, cli.options.reason)
    cli.out.result(answer, lambda: cli.out.line(f"{answer['decided']} {cli.options.outcome}."))


def _facts(item: JSON) -> list[tuple[str, Any]]:
    size = f"{item['width']}×{item['height']}" if item["width"] else ""
    factors = [
        f"{name} {item[name]:.2f}" for name in ("quality", "novelty", "scarcity") if item[name] is not None
    ]
    return [
        ("item", item["id"]),
        ("campaign", item["campaign"]),
        ("name", item["name"] + (f" ({item['locator']})" if item["locator"] else "")),
        ("label", item["label"]),
        ("text", item["text"][:500]),
        ("size", size),
        ("state", item["state"] + (", waits for a moderator" if item["needs_review"] else "")),
        ("reason", item["reason"]),
        ("duplicate of", item["duplicate_of"]),
        ("reward", money(item["reward"]) + (f" ({item['reward_status']})" if item["reward_status"] else "")),
        ("factors", ", ".join(factors)),
    ]
