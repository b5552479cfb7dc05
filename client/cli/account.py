"""hydra login, logout, me."""

import getpass
import platform
import sys
from argparse import ArgumentParser
from functools import partial

import httpx

from client.cli.output import Cli, Subcommands
from client.credentials import Access, forget, remember
from client.errors import ConfigurationError, Unauthenticated
from client.transport import JSON


def add_commands(commands: Subcommands, common: ArgumentParser) -> None:
    parser = commands.add_parser("login", parents=[common], help="get a token and keep it on this machine")
    parser.add_argument("--email", default="", help="asked for where absent")
    parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    parser.add_argument("--moderate", action="store_true", help="also for moderating; for moderators")
    parser.add_argument(
        "--register", action="store_true", help="make the account first, where the portal allows it"
    )
    parser.set_defaults(command=login)
    parser = commands.add_parser("logout", parents=[common], help="end the token and forget it")
    parser.set_defaults(command=logout)
    parser = commands.add_parser("me", parents=[common], help="show who is logged in")
    parser.set_defaults(command=me)


def login(cli: Cli) -> None:
    url = cli.access.url
    if _is_exposed(url):
        cli.out.complain(
            f"Take care: {url} is not encrypted; others on the way can read the password and the token."
        )
    email = cli.options.email or _ask("E-mail: ")
    password = _password(cli)
    with cli.connect(Access(url, "")) as hydra:
        if cli.options.register:
            hydra.account.register(email, password)
        scopes = ["read", "write"] + (["moderate"] if cli.options.moderate else [])
        name = f"hydra on {platform.node() or 'a computer'}"[:80]
        issue = partial(hydra.account.issue_token, email, password, name=name, scopes=scopes)
        try:
            token = issue()
        except Unauthenticated as exc:
            if exc.code != "code_needed":
                raise
            token = issue(code=_ask("One-time code: "))
    remember(cli.credentials, Access(url, token["token"]))
    answer: JSON = {"url": url, "email": email, "scopes": token["scopes"], "stored_in": str(cli.credentials)}
    cli.out.result(
        answer, lambda: cli.out.line(f"Logged in to {url} as {email}. The token is in {cli.credentials}.")
    )


def logout(cli: Cli) -> None:
    access = cli.access
    if not access.token:
        raise ConfigurationError(f"Nobody is logged in to {access.url}.")
    try:
        cli.hydra.account.revoke_token()
    except Unauthenticated:
        pass  # ended already; forgetting it is all that is left
    forget(cli.credentials, access.url)
    cli.out.result({"url": access.url}, lambda: cli.out.line(f"Logged out of {access.url}."))


def me(cli: Cli) -> None:
    who = cli.hydra.account.me()
    roles = [role for role in ("moderator", "sponsor") if who[role]]
    pairs = [
        ("portal", cli.hydra.url),
        ("e-mail", who["email"]),
        ("name", who["display_name"]),
        ("roles", ", ".join(["contributor", *roles])),
        ("this token may", ", ".join(who["scopes"])),
    ]
    cli.out.result(who, lambda: cli.out.facts(pairs))


def _is_exposed(url: str) -> bool:
    host = httpx.URL(url).host
    return url.startswith("http:") and host not in {"localhost", "::1"} and not host.startswith("127.")


def _ask(prompt: str) -> str:
    if not sys.stdin.isatty():
        raise ConfigurationError(
            f"There is no terminal to ask for “{prompt.rstrip(': ')}”; see hydra login --help."
        )
    return input(prompt).strip()


def _password(cli: Cli) -> str:
    if cli.options.password_stdin:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "There is no terminal to ask for the password; use --password-stdin, or HYDRA_TOKEN."
        )
    return getpass.getpass("Password: ")
