"""hydra upload: files and folders into one submission, and the account of what became of each item."""

import re
import sys
import unicodedata
from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from client.cli.output import Cli, Subcommands
from client.errors import ConfigurationError
from client.transport import JSON
from client.uploads import AT_ONCE, Sent, Terms, UploadFile, find_files

DESCRIPTION = """Sends files and folders as one submission, waits for validation, and prints what became of every item.

A folder named after a class labels what is in it; a .zip is read like a folder; a .csv or .jsonl holds one item per
row. Interrupted? Run it again with --resume SUBMISSION: nothing is counted twice."""

PARTS = ("accepted", "duplicate", "rejected", "ignored", "pending")
MOST_REASONS = 30
_PARTICULAR = re.compile(r"“[^”]*”|[0-9][0-9.,]*")  # what differs between reasons of one kind


def add_commands(commands: Subcommands, common: ArgumentParser) -> None:
    parser = commands.add_parser("upload", parents=[common], help="contribute files", description=DESCRIPTION)
    parser.add_argument("campaign")
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="files, folders, .zip, .csv, .jsonl"
    )
    parser.add_argument(
        "--agree", action="store_true", help="agree to the campaign's consent text without being asked"
    )
    parser.add_argument("--label", default="", help="the class of what no folder or column names one for")
    parser.add_argument(
        "--attribute",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a declared group; may be repeated",
    )
    parser.add_argument("--encoding", default="", help="of tables and texts, where the guess is wrong")
    parser.add_argument("--delimiter", default="", help="of tables, likewise")
    parser.add_argument(
        "--resume", default="", metavar="SUBMISSION", help="continue a submission that broke off"
    )
    parser.add_argument(
        "--at-once",
        type=_few,
        default=AT_ONCE,
        metavar="N",
        help=f"files in flight together (default: {AT_ONCE})",
    )
    parser.add_argument("--no-wait", action="store_true", help="do not wait for validation")
    parser.set_defaults(command=upload)


def upload(cli: Cli) -> int:
    """Exit code 1 where files did not arrive; rejected items are an outcome, not a failure."""
    options = cli.options
    files = find_files(options.paths)
    terms = Terms(options.label, pairs(options.attribute, "--attribute"), options.encoding, options.delimiter)
    campaign = cli.hydra.campaigns.show(options.campaign)
    check_terms(terms, campaign)
    submission = options.resume or _start(cli, campaign)
    sent = _send(cli, submission, files, terms)
    refused = [one for one in sent if one.error is not None]
    if len(refused) == len(sent):
        return _report_nothing_arrived(cli, submission, refused)
    shown = cli.hydra.submissions.complete(submission, key=f"complete-{submission}")
    if not options.no_wait:
        shown = _wait(cli, submission)
    return _report(cli, shown, sent, refused)


def pairs(given: Sequence[str], flag: str) -> dict[str, str]:
    """Raises: ConfigurationError, where one is not NAME=VALUE."""
    for one in given:
        if "=" not in one.strip("="):
            raise ConfigurationError(f"{flag} {one!r} must be NAME=VALUE.")
    return {name: value for name, _, value in (one.partition("=") for one in given)}


def check_terms(terms: Terms, campaign: JSON) -> None:
    """Before anything is sent. Raises: ConfigurationError, naming what the campaign has."""
    _check_one_of("--label", terms.label, campaign["classes"], "class")
    declared = {one["name"]: one["values"] for one in campaign["attributes"]}
    for name, value in terms.attributes.items():
        values = {_normal(known): values for known, values in declared.items()}.get(_normal(name))
        if values is None:
            has = f"It has: {', '.join(declared)}." if declared else "It has none; leave --attribute out."
            raise ConfigurationError(
                f"--attribute {name}: the campaign declares no such attribute. {has} Nothing was sent."
            )
        _check_one_of(f"--attribute {name}", value, values, "value")


def _check_one_of(flag: str, given: str, known: Sequence[str], what: str) -> None:
    if given and _normal(given) not in map(_normal, known):
        raise ConfigurationError(
            f"{flag} {given!r} is no {what} of the campaign. Choose one of: {', '.join(known)}. Nothing was sent."
        )


def _normal(name: str) -> str:
    """Spellings that the portal takes for one: NFC, single spaces, nothing invisible at the ends."""
    text = " ".join(unicodedata.normalize("NFC", name).split())
    return text.strip(" \u200b\u200c\u200d\u2060\ufeff")


def _few(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 32:
        raise ArgumentTypeError(f"must be 1 to 32, not {text!r}")
    return int(text)


def _start(cli: Cli, campaign: JSON) -> str:
    if not cli.options.agree:
        _ask_consent(cli, campaign)
    started = cli.hydra.submissions.start(campaign["slug"], campaign["consent_version"])
    return str(started["id"])


def _ask_consent(cli: Cli, campaign: JSON) -> None:
    cli.out.complain(f"{campaign['title']} asks you to agree (version {campaign['consent_version']}):")
    cli.out.complain(campaign["consent_text"] or "(no text beside the licence: " + campaign["licence"] + ")")
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "Nothing was sent. Agree with --agree, since there is no terminal to ask at."
        )
    print("Do you agree? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise ConfigurationError("Nothing was sent.")


def _send(cli: Cli, submission: str, files: Sequence[UploadFile], terms: Terms) -> Sequence[Sent]:
    cli.out.note(
        f"Submission {submission}: {len(files):,} files, {megabytes(sum(file.bytes for file in files))}."
    )
    bar = cli.out.bar("files", len(files))
    done = [0, 0]

    def progress(sent: Sent) -> None:
        done[0] += 1
        done[1] += sent.file.bytes
        bar.at(done[0], megabytes(done[1]))

    try:
        return cli.hydra.submissions.send(
            submission, files, terms, progress=progress, at_once=cli.options.at_once
        )
    except BaseException:
        cli.out.complain(
            f"\nBroke off. Continue with: hydra upload {cli.options.campaign} … --resume {submission}"
        )
        raise
    finally:
        bar.end()


def _wait(cli: Cli, submission: str) -> JSON:
    said = [""]

    def progress(shown: JSON) -> None:
        stage = shown["stage"] or shown["state"]
        if stage != said[0]:
            said[0] = stage
            cli.out.note(f"  {stage}")

    return cli.hydra.submissions.wait(submission, progress=progress)


def _report_nothing_arrived(cli: Cli, submission: str, refused: Sequence[Sent]) -> int:
    answer = {"submission": submission, "not_received": _refusals(refused)}
    cli.out.result(answer, lambda: _print_refused(cli, refused))
    cli.out.note("No file arrived, so there is nothing to validate.")
    return 1


def _report(cli: Cli, shown: JSON, sent: Sequence[Sent], refused: Sequence[Sent]) -> int:
    reasons = _reasons(cli, shown)
    counts = shown["counts"]
    answer = {
        "submission": shown["id"],
        "state": shown["state"],
        "files": len(sent),
        "not_received": _refusals(refused),
        "counts": counts,
        "reasons": [
            {"state": state, "reason": reason, "items": n} for (state, reason), n in reasons.most_common()
        ],
    }

    def show() -> None:
        cli.out.line(
            f"{len(sent) - len(refused):,} of {len(sent):,} files arrived. Submission {shown['id']}:"
        )
        print_equation(cli, counts)
        rows = [(n, state, reason) for state, reason, n in alike(reasons)[:MOST_REASONS]]
        if rows:
            cli.out.line()
            cli.out.table(("ITEMS", "STATE", "REASON"), rows, empty="")
        _print_refused(cli, refused)

    cli.out.result(answer, show)
    return 1 if refused or counts["received"] != sum(counts[part] for part in PARTS) else 0


def print_equation(cli: Cli, counts: JSON) -> None:
    """received = accepted + …, one term a line; says so where the portal's own counts do not add up."""
    width = max(len(f"{counts[part]:,}") for part in ("received", *PARTS))
    cli.out.line(f"  received  {counts['received']:>{width},}")
    for sign, part in zip("=++++", PARTS, strict=True):
        cli.out.line(f"{sign} {part:<9} {counts[part]:>{width},}")
    total = sum(counts[part] for part in PARTS)
    if total != counts["received"]:
        cli.out.complain(
            f"These do not add up: the parts make {total:,}. Please report this to the portal's operator."
        )


def alike(reasons: Counter[tuple[str, str]]) -> list[tuple[str, str, int]]:
    """(state, reason, items), reasons that differ in numbers and quoted names only put together; most items first."""
    groups: dict[tuple[str, str], list[str]] = {}
    totals: Counter[tuple[str, str]] = Counter()
    for (state, reason), items in reasons.items():
        pattern = (state, _PARTICULAR.sub("", reason))
        groups.setdefault(pattern, []).append(reason)
        totals[pattern] += items
    return [
        (state, groups[state, shape][0] + (" (and the like)" if len(groups[state, shape]) > 1 else ""), items)
        for (state, shape), items in totals.most_common()
    ]


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _reasons(cli: Cli, shown: JSON) -> Counter[tuple[str, str]]:
    """How often each reason was given for each state but accepted."""
    found: Counter[tuple[str, str]] = Counter()
    for state in PARTS[1:]:
        if shown["counts"][state]:
            for item in cli.hydra.submissions.items(shown["id"], state=state):
                waiting = "waits for a moderator" if item["needs_review"] else "no reason given"
                found[state, item["reason"] or waiting] += 1
    return found


def _refusals(refused: Sequence[Sent]) -> list[JSON]:
    return [{"path": str(one.file.path), "reason": str(one.error)} for one in refused]


def _print_refused(cli: Cli, refused: Sequence[Sent]) -> None:
    for one in refused[:MOST_REASONS]:
        cli.out.complain(f"not received: {one.file.path}: {one.error}")
    if len(refused) > MOST_REASONS:
        cli.out.complain(f"… and {len(refused) - MOST_REASONS:,} more files were not received.")
