"""hydra campaigns list | show | create | open | close | fund."""

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from client.cli.output import Cli, Subcommands, moment, money
from client.errors import ConfigurationError
from client.money import to_nano
from client.transport import JSON

CREATE_HELP = """Creates a draft that only you see; open it when it is complete. The fields come from a JSON file
(the API's POST /campaigns), from flags, or both: a flag goes before the file."""


def add_commands(commands: Subcommands, common: ArgumentParser) -> None:
    group = commands.add_parser("campaigns", help="list, show, create, open, close, fund").add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    parser = group.add_parser("list", parents=[common], help="list campaigns, newest first")
    parser.add_argument("--state", choices=["draft", "open", "closed"], default="")
    parser.add_argument("--modality", choices=["image", "text", "tabular"], default="")
    parser.set_defaults(command=show_list)
    parser = group.add_parser("show", parents=[common], help="show one with its terms and budget")
    parser.add_argument("campaign", help="its short name, such as digits")
    parser.set_defaults(command=show)
    _add_create(group, common)
    for name, what in (("open", "take submissions"), ("close", "take no more submissions")):
        parser = group.add_parser(name, parents=[common], help=what)
        parser.add_argument("campaign")
        parser.set_defaults(command=step, step=name)
    parser = group.add_parser("fund", parents=[common], help="add to the budget")
    parser.add_argument("campaign")
    parser.add_argument("amount", help="in HYD, such as 500 or 0.25")
    parser.set_defaults(command=fund)


def _add_create(group: Subcommands, common: ArgumentParser) -> None:
    parser = group.add_parser("create", parents=[common], help="create a draft", description=CREATE_HELP)
    parser.add_argument(
        "file", nargs="?", type=Path, help="a JSON file with the fields; - for standard input"
    )
    parser.add_argument("--title")
    parser.add_argument("--slug", help="short name in addresses; made from the title where absent")
    parser.add_argument("--description")
    parser.add_argument("--modality", choices=["image", "text", "tabular"])
    parser.add_argument("--classes", help="comma-separated, such as cat,dog")
    parser.add_argument("--licence")
    parser.add_argument("--consent-text")
    parser.add_argument("--reward", metavar="HYD", help="for an item of full quality, novelty and scarcity")
    parser.add_argument("--image-channels", type=int, choices=[1, 3])
    parser.add_argument("--image-min-side", type=int)
    parser.add_argument("--label-column")
    parser.add_argument("--text-column")
    parser.set_defaults(command=create)


def show_list(cli: Cli) -> None:
    found = [*cli.hydra.campaigns.list(state=cli.options.state, modality=cli.options.modality)]
    rows = [
        (one["slug"], one["title"], one["modality"], one["state"], money(one["reward_base"])) for one in found
    ]
    titles = ("CAMPAIGN", "TITLE", "MODALITY", "STATE", "REWARD UP TO")
    cli.out.result(found, lambda: cli.out.table(titles, rows, empty="No campaigns are there yet."))


def show(cli: Cli) -> None:
    _print(cli, cli.hydra.campaigns.show(cli.options.campaign))


def create(cli: Cli) -> None:
    draft = _read(cli.options.file) | _from_flags(cli.options)
    if not draft:
        raise ConfigurationError("Say what to create: a JSON file, or flags such as --title; see --help.")
    made = cli.hydra.campaigns.create(draft)
    cli.out.note(f"Created as a draft. Open it with: hydra campaigns open {made['slug']}")
    _print(cli, made)


def step(cli: Cli) -> None:
    take = cli.hydra.campaigns.open if cli.options.step == "open" else cli.hydra.campaigns.close
    changed = take(cli.options.campaign)
    cli.out.result(changed, lambda: cli.out.line(f"{changed['slug']} is now {changed['state']}."))


def fund(cli: Cli) -> None:
    changed = cli.hydra.campaigns.fund(cli.options.campaign, to_nano(cli.options.amount))
    budget = changed["budget"]
    said = f"{changed['slug']}: funded {money(budget['funded'])}, remaining {money(budget['remaining'])}."
    cli.out.result(changed, lambda: cli.out.line(said))


def _print(cli: Cli, campaign: JSON) -> None:
    budget = campaign["budget"]
    pairs = [
        ("campaign", campaign["slug"]),
        ("title", campaign["title"]),
        ("owner", campaign["owner"]),
        ("state", campaign["state"]),
        ("modality", campaign["modality"]),
        ("classes", ", ".join(campaign["classes"])),
        ("columns", ", ".join(f"{one['name']} ({one['type']})" for one in campaign["columns"])),
        ("licence", campaign["licence"]),
        ("reward up to", money(campaign["reward_base"])),
        ("budget", f"{money(budget['remaining'])} remaining of {money(budget['funded'])}"),
        ("deadline", moment(campaign["deadline"])),
        ("consent", f"version {campaign['consent_version']}: {campaign['consent_text']}"),
        ("description", campaign["description"]),
    ]
    cli.out.result(campaign, lambda: cli.out.facts(pairs))


def _read(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        draft = json.loads(sys.stdin.read() if str(path) == "-" else path.read_text("utf-8"))
    except (OSError, ValueError) as exc:
        raise ConfigurationError(f"{path} cannot be read as JSON ({exc}).") from exc
    if not isinstance(draft, dict):
        raise ConfigurationError(f'{path} must hold an object, such as {{"title": "Digits", …}}.')
    return draft


def _from_flags(options: Namespace) -> dict[str, Any]:
    plain = (
        "title", "slug", "description", "modality", "licence", "consent_text", "image_channels", "image_min_side",
        "label_column", "text_column",
    )  # fmt: skip
    given = {name: getattr(options, name) for name in plain if getattr(options, name) is not None}
    if options.classes is not None:
        given["classes"] = [name.strip() for name in options.classes.split(",") if name.strip()]
    if options.reward is not None:
        given["reward_base_nano"] = to_nano(options.reward)
    return given
