"""hydra releases list | build | show | download."""

from argparse import ArgumentParser
from pathlib import Path

from client.cli.output import Cli, Subcommands, moment
from client.cli.upload import megabytes
from client.transport import JSON


def add_commands(commands: Subcommands, common: ArgumentParser) -> None:
    group = commands.add_parser(
        "releases", aliases=["release"], help="list, build, show, download"
    ).add_subparsers(title="commands", metavar="COMMAND", required=True)
    parser = group.add_parser("list", parents=[common], help="list a campaign's releases")
    parser.add_argument("campaign")
    parser.set_defaults(command=show_list)
    parser = group.add_parser(
        "build", parents=[common], help="make a release of the accepted items, and wait for it"
    )
    parser.add_argument("campaign")
    parser.add_argument("--no-wait", action="store_true")
    parser.set_defaults(command=build)
    parser = group.add_parser("show", parents=[common], help="show a release")
    parser.add_argument("release")
    parser.set_defaults(command=show)
    parser = group.add_parser("download", parents=[common], help="download and check all its files; resumes")
    parser.add_argument("release")
    parser.add_argument("folder", type=Path)
    parser.set_defaults(command=download)


def show_list(cli: Cli) -> None:
    found = [*cli.hydra.releases.list(cli.options.campaign)]
    rows = [
        (
            one["id"],
            one["version"],
            one["state"],
            one["train_items"],
            one["test_items"],
            moment(one["created_at"]),
        )
        for one in found
    ]
    titles = ("RELEASE", "VERSION", "STATE", "TRAIN", "TEST", "MADE")
    empty = "No releases yet. The owner makes one with: hydra releases build CAMPAIGN"
    cli.out.result(found, lambda: cli.out.table(titles, rows, empty=empty))


def build(cli: Cli) -> int:
    release = cli.hydra.releases.build(cli.options.campaign)
    if not cli.options.no_wait:
        cli.out.note(f"Release {release['id']} is being built.")
        release = cli.hydra.releases.wait(release["id"])
    _print(cli, release)
    return 1 if release["state"] == "failed" else 0


def show(cli: Cli) -> None:
    _print(cli, cli.hydra.releases.show(cli.options.release))


def download(cli: Cli) -> None:
    def progress(name: str, done: int, total: int) -> None:
        if done == total:
            cli.out.note(f"  {name}  {megabytes(total)}")

    paths = cli.hydra.releases.download(cli.options.release, cli.options.folder, progress=progress)
    said = f"{len(paths)} files are in {cli.options.folder}, each as the manifest says."
    cli.out.result({"files": [str(path) for path in paths]}, lambda: cli.out.line(said))


def _print(cli: Cli, release: JSON) -> None:
    pairs = [
        ("release", release["id"]),
        ("campaign", f"{release['campaign']}, version {release['version']}"),
        ("modality", release["modality"]),
        ("state", release["state"]),
        ("failure", release["failure"]),
        ("items", f"{release['train_items']:,} for training, {release['test_items']:,} held out"),
        ("manifest", release["manifest_sha256"]),
        ("ready", moment(release["ready_at"])),
    ]
    cli.out.result(release, lambda: cli.out.facts(pairs))
