"""Parses the command line, runs one command, and turns every error into words and an exit code."""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from client.cli import account, campaigns, items, jobs, network, releases, rewards, upload
from client.cli.output import Cli, Output
from client.credentials import default_path
from client.errors import ApiError, ConfigurationError, Forbidden, HydraError, NotFound, Unauthenticated
from client.transport import PREFIX

DONE, REFUSED, USAGE, NO_ACCESS, ABSENT, AGAIN, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

DESCRIPTION = "Labelled data in, compute out: contribute to campaigns, unlock credits, train on releases."
EPILOG = """The portal and the token come from `hydra login`, or from HYDRA_URL and HYDRA_TOKEN.

exit codes:
  0  done
  1  refused or failed; the message says why
  2  wrong usage, or a file or setting that cannot be read
  3  not logged in, or not allowed
  4  there is no such thing, or it is not yours to see
  5  no answer, or the server is busy: try again later
  130  interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The `hydra` command. → its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["predict"]:  # the worker's command, with its own options
        return jobs.predict(arguments[1:])
    options = build_parser().parse_args(arguments)
    return run(Cli(options, Output(as_json=options.json), os.environ, default_path(os.environ)))


def run(cli: Cli) -> int:
    try:
        return cli.options.command(cli) or DONE
    except HydraError as exc:
        return _explain(cli, exc)
    except KeyError as exc:  # an answer without a field that this version prints
        cli.out.complain(
            f"hydra: the portal's answer lacks {exc}; client and portal are of different versions."
        )
        return REFUSED
    except KeyboardInterrupt:
        cli.out.complain("\nInterrupted.")
        return INTERRUPTED
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as exc:
        cli.out.complain(f"hydra: {exc.filename or 'a file'}: {exc.strerror or exc}")
        return USAGE
    finally:
        cli.close()


def _explain(cli: Cli, exc: HydraError) -> int:
    code = exit_code(exc)
    if cli.options.json:
        details = exc.as_dict() if isinstance(exc, ApiError) else {"message": str(exc)}
        cli.out.complain(json.dumps({"error": details, "exit_code": code}, ensure_ascii=False))
        return code
    cli.out.complain(f"hydra: {exc}")
    if isinstance(exc, NotFound) and exc.path:
        cli.out.complain(f"Asked for: {exc.path.split(PREFIX)[-1]}")
    for place, said in exc.fields.items() if isinstance(exc, ApiError) else ():
        if str(exc) not in (said[0], f"{place}: {said[0]}"):
            cli.out.complain(f"  {place}: {' '.join(said)}")
    if isinstance(exc, Unauthenticated) and exc.code == "unauthenticated":
        cli.out.complain("Log in with: hydra login")
    return code


def exit_code(exc: HydraError) -> int:
    if isinstance(exc, Unauthenticated | Forbidden):
        return NO_ACCESS
    if isinstance(exc, NotFound):
        return ABSENT
    if isinstance(exc, ConfigurationError):
        return USAGE
    return AGAIN if exc.retry else REFUSED


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hydra",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    common = argparse.ArgumentParser(add_help=False)
    group = common.add_argument_group("everywhere")
    group.add_argument("--url", default="", help="the portal's address, where it is not the one logged in to")
    group.add_argument(
        "--json", action="store_true", help="print the answer as JSON, and errors as JSON on stderr"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (account, campaigns, upload, items, rewards, releases, jobs, network):
        module.add_commands(commands, common)
    commands.add_parser(
        "predict", help="ask a downloaded checkpoint about files, on this machine", add_help=False
    )
    return parser
