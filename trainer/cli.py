"""`python -m trainer join | backbone | solo | status`: flags in, one program run, errors as one line for people."""

import argparse
import asyncio
import json
import logging
import os
import secrets
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol

from trainer.config import BackboneSettings, JoinSettings, check_market, read_token
from trainer.errors import InputError, Remedy, SettingInvalid, TrainerError
from trainer.home import hold


class Program(Protocol):
    def run(self) -> Coroutine[Any, Any, None]: ...

    def stop(self) -> None: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 done, 1 failed, 2 wrong input."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch loads: peers share machines
    args = _parser().parse_args(argv)
    _log_to_stderr(_speaker(args), as_json=args.log_json)
    try:
        return args.act(args)
    except (InputError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except TrainerError as error:
        again = f" ({error.remedy.value})" if error.remedy is Remedy.RETRY else ""
        print(f"error: {error}{again}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trainer", description=__doc__)
    parser.set_defaults(log_json=False)
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_join(commands.add_parser("join", help="give this machine's compute to the network"))
    _add_backbone(commands.add_parser("backbone", help="run the platform's own peer"))
    _add_solo(commands.add_parser("solo", help="train a recipe in one process, for comparison"))
    status = commands.add_parser("status", help="show who this peer is and whether the market can be reached")
    status.add_argument("--home", type=Path, required=True)
    status.add_argument("--market", help="default: where it was enrolled")
    status.set_defaults(act=_status)
    return parser


def _add_join(join: argparse.ArgumentParser) -> None:
    join.add_argument("--market", required=True, help="address of the portal, e.g. http://localhost:8000")
    join.add_argument(
        "--home", type=Path, required=True, help="folder for this peer's key, enrolment and cache"
    )
    join.add_argument("--code", help="one-time code from the portal, needed the first time")
    join.add_argument("--name", default=f"peer-{secrets.token_hex(3)}", help="shown on the network page")
    join.add_argument("--host", default="127.0.0.1", help="address at which other peers reach this one")
    join.add_argument(
        "--max-rounds-delay-ms", type=int, default=0, metavar="N",
        help="wait up to N ms before each round's compute, to play a slow machine",
    )  # fmt: skip
    join.add_argument("--log-json", action="store_true", help="one JSON object a line")
    join.set_defaults(act=_join)


def _add_backbone(backbone: argparse.ArgumentParser) -> None:
    backbone.add_argument("--market", required=True)
    backbone.add_argument("--home", type=Path, required=True)
    backbone.add_argument("--token-file", type=Path, required=True, help="API token with the scope backbone")
    backbone.add_argument("--host", default="127.0.0.1", help="listened on, and announced to volunteers")
    backbone.add_argument("--port", type=int, default=0, help="0 takes a free one")
    backbone.add_argument("--checkpoint-every", type=int, default=10, metavar="STEPS")
    backbone.add_argument(
        "--evaluate-every", type=int, default=0, metavar="STEPS", help="0: twenty times a job"
    )
    backbone.add_argument("--log-json", action="store_true")
    backbone.set_defaults(act=_backbone)


def _add_solo(solo: argparse.ArgumentParser) -> None:
    solo.add_argument(
        "--release-dir", type=Path, required=True, help="folder with manifest.json and its files"
    )
    solo.add_argument("--recipe", required=True)
    solo.add_argument("--params", default="{}", help='JSON, e.g. {"steps": 200}')
    solo.set_defaults(act=_solo)


def _join(args: argparse.Namespace) -> int:
    from trainer.worker import make_worker

    if args.max_rounds_delay_ms < 0:
        raise SettingInvalid("--max-rounds-delay-ms", "must not be negative")
    settings = JoinSettings(
        check_market(args.market), args.home, args.code, args.name[:80], args.host,
        args.max_rounds_delay_ms,
    )  # fmt: skip
    with hold(args.home):
        return _run(lambda: make_worker(settings))


def _backbone(args: argparse.Namespace) -> int:
    from trainer.backbone.service import Backbone

    if args.checkpoint_every < 1 or args.evaluate_every < 0:
        raise SettingInvalid("--checkpoint-every, --evaluate-every", "must be whole numbers of steps")
    settings = BackboneSettings(
        check_market(args.market), args.home, read_token(args.token_file), args.host, args.port,
        args.checkpoint_every, args.evaluate_every,
    )  # fmt: skip
    with hold(args.home):
        return _run(lambda: Backbone(settings))


def _solo(args: argparse.Namespace) -> int:
    from trainer.solo import train_solo

    try:
        params = json.loads(args.params)
    except ValueError as error:
        raise SettingInvalid("--params", f"not JSON: {error}") from error
    print(json.dumps(train_solo(args.release_dir, args.recipe, params)))
    return 0


def _status(args: argparse.Namespace) -> int:
    from trainer.status import describe

    facts = describe(args.home, check_market(args.market) if args.market else None)
    print(json.dumps(facts, indent=2))
    return 0 if facts["market_reachable"] else 1


def _run(make: Callable[[], Program]) -> int:
    """Runs a program on uvloop; SIGTERM and Ctrl-C ask it to end, a second one ends it."""
    import uvloop

    async def work() -> None:
        program = make()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, program.stop)
        await program.run()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work())
    return 0


class _JsonLines(logging.Formatter):
    def __init__(self, speaker: str) -> None:
        super().__init__()
        self._speaker = speaker

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": record.created, "level": record.levelname, "peer": self._speaker, "text": record.getMessage(),
        }  # fmt: skip
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _speaker(args: argparse.Namespace) -> str:
    """Who a log line is of: volunteers' lines bear their name, so that several can share a screen."""
    return getattr(args, "name", "backbone").replace("%", "%%")


def _log_to_stderr(speaker: str, *, as_json: bool) -> None:
    handler = logging.StreamHandler()
    plain = logging.Formatter(f"%(asctime)s %(levelname)-7s {speaker}: %(message)s", "%H:%M:%S")
    handler.setFormatter(_JsonLines(speaker) if as_json else plain)
    hydra = logging.getLogger("hydra")
    hydra.handlers = [handler]
    hydra.setLevel(logging.INFO)
