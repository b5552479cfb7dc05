"""hydra network code | peers | backbones."""

from argparse import ArgumentParser

from client.cli.output import Cli, Subcommands, moment


def add_commands(commands: Subcommands, common: ArgumentParser) -> None:
    group = commands.add_parser("network", help="code, peers, backbones").add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    parser = group.add_parser(
        "code", parents=[common], help="get a one-time code that enrols a computer of yours"
    )
    parser.set_defaults(command=code)
    parser = group.add_parser("peers", parents=[common], help="list who is there")
    parser.set_defaults(command=peers)
    parser = group.add_parser("backbones", parents=[common], help="list where the network is found")
    parser.set_defaults(command=backbones)


def code(cli: Cli) -> None:
    answer = cli.hydra.network.code()

    def show() -> None:
        cli.out.line(answer["code"])
        cli.out.note(f"Works once, until {moment(answer['expires_at'])} UTC. On the volunteering computer:")
        cli.out.note(
            f"  python -m trainer join --market {cli.hydra.url} --home hydra-peer --code {answer['code']}"
        )

    cli.out.result(answer, show)


def peers(cli: Cli) -> None:
    found = [*cli.hydra.network.peers()]
    rows = [
        (one["peer_id"][:12], one["name"], one["online"], one["state"], float(one["samples_per_s"] or 0),
         one["samples_total"], moment(one["last_seen_at"]))
        for one in found
    ]  # fmt: skip
    titles = ("PEER", "NAME", "ONLINE", "STATE", "SAMPLES/S", "SAMPLES", "LAST SEEN")
    cli.out.result(found, lambda: cli.out.table(titles, rows, empty="No volunteers are there now."))


def backbones(cli: Cli) -> None:
    found = [*cli.hydra.network.backbones()]
    rows = [(one["peer_id"][:12], one["host"], str(one["port"])) for one in found]
    cli.out.result(
        found, lambda: cli.out.table(("PEER", "HOST", "PORT"), rows, empty="No backbone is announced.")
    )
