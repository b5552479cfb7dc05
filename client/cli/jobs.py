"""hydra recipes, jobs, predict."""

import importlib
import math
import sys
import uuid
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from client.cli.output import Cli, Subcommands, moment, money
from client.cli.upload import pairs
from client.errors import ConfigurationError
from client.money import to_hyd, to_nano
from client.training import JobOrder
from client.transport import JSON


def add_commands(commands: Subcommands, common: ArgumentParser) -> None:
    parser = commands.add_parser("recipes", parents=[common], help="list what a job can train")
    parser.set_defaults(command=recipes)
    group = commands.add_parser(
        "jobs", help="create, list, show, watch, cancel, checkpoint, batch"
    ).add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_create(group, common)
    parser = group.add_parser("list", parents=[common], help="list your jobs, newest first")
    parser.set_defaults(command=show_list)
    for name, command, what in (
        ("show", show, "show a job"),
        ("watch", watch, "follow a job until it is over"),
        ("cancel", cancel, "stop a job; what it did not use comes back"),
    ):
        parser = group.add_parser(name, parents=[common], help=what)
        parser.add_argument("job")
        parser.set_defaults(command=command)
    parser = group.add_parser("checkpoint", parents=[common], help="download the newest checkpoint")
    parser.add_argument("job")
    parser.add_argument(
        "target", nargs="?", type=Path, default=Path(), help="a file or folder (default: here)"
    )
    parser.set_defaults(command=checkpoint)
    parser = group.add_parser("batch", parents=[common], help="list the items in one step's batch")
    parser.add_argument("job")
    parser.add_argument("step", type=int)
    parser.set_defaults(command=batch)


def _add_create(group: Subcommands, common: ArgumentParser) -> None:
    parser = group.add_parser("create", parents=[common], help="lock credits and have a model trained")
    parser.add_argument("release")
    parser.add_argument("recipe", help="see hydra recipes")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter, such as steps=200; may be repeated",
    )
    parser.add_argument("--limit", metavar="HYD", help="the most to spend (default: what all steps cost)")
    parser.add_argument("--watch", action="store_true", help="follow it until it is over")
    parser.set_defaults(command=create)


def recipes(cli: Cli) -> None:
    found = cli.hydra.jobs.recipes()

    def show() -> None:
        for one in found:
            cli.out.line(
                f"{one['name']}  {one['title']} ({one['modality']}), {money(one['price_per_sample'])} a sample"
            )
            for parameter in one["parameters"]:
                cli.out.line(
                    f"    {parameter['name']}={_plain(parameter['default'])}  {_range(parameter)}. {parameter['help']}"
                )

    cli.out.result(found, show)


def create(cli: Cli) -> int:
    _check_release(cli.options.release)
    parameters = {name: _number(value) for name, value in pairs(cli.options.set, "--set").items()}
    limit = to_nano(cli.options.limit) if cli.options.limit else _whole_cost(cli, parameters)
    order = JobOrder(cli.options.release, cli.options.recipe, limit, parameters)
    job = cli.hydra.jobs.create(order)
    if cli.options.watch:
        cli.out.note(f"Job {job['id']}: {money(job['credit_limit'])} locked.")
        cli.options.job = job["id"]
        return watch(cli)
    _print(cli, job)
    return 0


def show_list(cli: Cli) -> None:
    found = [*cli.hydra.jobs.list()]
    rows = [
        (one["id"], one["recipe"], one["campaign"], one["state"], one["step"], one["charged"]["hyd"], moment(one["created_at"]))
        for one in found
    ]  # fmt: skip
    titles = ("JOB", "RECIPE", "CAMPAIGN", "STATE", "STEP", "CHARGED HYD", "CREATED")
    cli.out.result(
        found, lambda: cli.out.table(titles, rows, empty="You have no jobs: hydra jobs create --help")
    )


def show(cli: Cli) -> None:
    _print(cli, cli.hydra.jobs.show(cli.options.job))


def watch(cli: Cli) -> int:
    """Exit code 1 where the job failed."""
    said = [""]

    def seen(job: JSON) -> None:
        if (line := _progress(job)) != said[0]:
            said[0] = line
            cli.out.note(line)

    job = cli.hydra.jobs.watch(cli.options.job, seen)
    _print(cli, job)
    return 1 if job["state"] == "failed" else 0


def cancel(cli: Cli) -> None:
    _print(cli, cli.hydra.jobs.cancel(cli.options.job))


def checkpoint(cli: Cli) -> None:
    path = cli.hydra.jobs.checkpoint(cli.options.job, cli.options.target)
    cli.out.result({"path": str(path)}, lambda: cli.out.line(str(path)))


def batch(cli: Cli) -> None:
    answer = cli.hydra.jobs.batch(cli.options.job, cli.options.step)
    cli.out.result(answer, lambda: cli.out.line("\n".join(answer["items"])))


def predict(arguments: Sequence[str]) -> int:
    """Looked up by name: the command comes with the worker, which stands above the client and may not be installed."""
    try:
        command: Any = importlib.import_module("trainer.recipes.predict")
    except ModuleNotFoundError:
        print("hydra: predict comes with the worker: pip install 'hydra[worker]'", file=sys.stderr)
        return 2
    return int(command.main(arguments))


def _whole_cost(cli: Cli, parameters: dict[str, Any]) -> int:
    """What all steps of the job cost, at the recipe's price."""
    found = {one["name"]: one for one in cli.hydra.jobs.recipes()}
    if cli.options.recipe not in found:
        raise ConfigurationError(
            f"There is no recipe {cli.options.recipe!r}. Choose one of: {', '.join(found)}."
        )
    recipe = found[cli.options.recipe]
    values = {one["name"]: one["default"] for one in recipe["parameters"]} | parameters
    steps, samples = (_whole(name, values[name]) for name in ("steps", "batch_size"))
    cost = steps * samples * int(recipe["price_per_sample"]["nano"])
    cli.out.note(f"{steps:,} steps of {samples:,} samples cost at most {to_hyd(cost)} HYD.")
    return cost


def _check_release(text: str) -> None:
    try:
        uuid.UUID(text)
    except ValueError:
        raise ConfigurationError(
            f"{text!r} is not the id of a release. The ids are in: hydra releases list CAMPAIGN"
        ) from None


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"--set {name}={value}: must be a whole number of 1 or more.")
    return value


def _number(text: str) -> int | float | str:
    """What is no finite number stays text, for the portal to refuse by name: JSON has no infinity."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _range(parameter: JSON) -> str:
    low, high = parameter["low"], parameter["high"]
    return f"{low:,.0f} to {high:,.0f}" if parameter["kind"] == "int" else f"{low:g} to {high:g}"


def _plain(value: float) -> str:
    """As it can be typed again after --set."""
    return str(value) if isinstance(value, int) else f"{value:g}"


def _measure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _progress(job: JSON) -> str:
    accuracy = job["metrics"].get("accuracy")
    measured = f"  accuracy {accuracy:.1%}" if isinstance(accuracy, int | float) else ""
    return f"{job['state']:<9}  step {job['step']:,}  samples {job['samples']:,}{measured}"


def _print(cli: Cli, job: JSON) -> None:
    measured = {name: value for name, value in job["metrics"].items() if isinstance(value, int | float)}
    newest = job["checkpoint"]
    facts = [
        ("job", job["id"]),
        ("recipe", f"{job['recipe']} {job['recipe_version']}, {job['strategy']}"),
        ("release", f"{job['release']} of {job['campaign']}"),
        ("parameters", ", ".join(f"{name}={_plain(value)}" for name, value in job["parameters"].items())),
        ("state", job["state"]),
        ("reason", job["reason"]),
        ("step", job["step"]),
        ("samples", f"{job['samples']:,} of {job['sample_limit']:,} paid for"),
        ("charged", f"{money(job['charged'])}; {money(job['credit_limit'])} were locked"),
        ("held-out", ", ".join(f"{name} {_measure(value)}" for name, value in measured.items())),
        ("checkpoint", f"step {newest['step']}, SHA-256 {newest['sha256']}" if newest else ""),
        ("finished", moment(job["finished_at"])),
    ]
    cli.out.result(job, lambda: cli.out.facts(facts))
