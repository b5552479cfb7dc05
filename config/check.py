"""`make check`: every static check, all of them even when one fails, with a line each."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PRODUCTION = {
    "DJANGO_SETTINGS_MODULE": "config.settings.production",
    "SECRET_KEY": "only-for-the-deploy-check-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEF",
    "LEDGER_SALT": "only-for-the-deploy-check",
    "ALLOWED_HOSTS": "hydra.example",
}
TESTING = {"DJANGO_SETTINGS_MODULE": "config.settings.test"}

CHECKS: list[tuple[str, list[str], dict[str, str]]] = [
    ("format", ["ruff", "format", "--check", "-q", "."], {}),
    ("lint", ["ruff", "check", "-q", "."], {}),
    ("import contracts", ["lint-imports"], {}),
    ("types", ["mypy"], TESTING),
    ("migrations", ["python", "manage.py", "makemigrations", "--check", "--dry-run", "-v", "1"], TESTING),
    ("deploy settings", ["python", "manage.py", "check", "--deploy", "--fail-level", "WARNING"], PRODUCTION),
    ("contract artifacts", ["node", "ledger/contracts/compile.mjs", "--check"], {}),
]


def main() -> int:
    failed = [title for title, command, extra in CHECKS if not passes(title, command, extra)]
    if failed:
        print(f"check: {len(failed)} of {len(CHECKS)} failed: {', '.join(failed)}")
        return 1
    print(f"check: all {len(CHECKS)} passed")
    return 0


def passes(title: str, command: list[str], extra: dict[str, str]) -> bool:
    environment = {**os.environ, **extra, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    started = time.monotonic()
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    print(
        f"check: {title:<20} {'ok' if answer.returncode == 0 else 'FAILED'} ({time.monotonic() - started:.1f} s)",
        flush=True,
    )
    if answer.returncode:
        print(answer.stdout + answer.stderr, flush=True)
    return answer.returncode == 0


if __name__ == "__main__":
    raise SystemExit(main())
