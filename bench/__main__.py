"""`make bench`: runs every program of this folder one after the other and ends with a table of their figures."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
NOT_BENCHES = {"__init__", "__main__", "report"}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="each within 60 s: shows that it runs, not how fast"
    )
    parser.add_argument("names", nargs="*", help="which (default: all)")
    options = parser.parse_args(argv)
    known = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in NOT_BENCHES)
    if unknown := set(options.names) - set(known):
        parser.error(f"no bench named {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    reports = [run(name, quick=options.quick) for name in options.names or known]
    for report in reports:
        for figure in report["figures"]:
            print(describe(report["name"], figure))
    return 0


def describe(name: str, figure: dict) -> str:
    """One line of the table: the ratio, or where there is no peer the figure itself."""
    measured = f"{figure['ours']:.4g}" if figure["ratio"] is None else f"ratio {figure['ratio']:.3f}"
    verdict = (
        f"goal {figure['goal']:<10} {'holds' if figure['holds'] else 'MISSED'}"
        if figure["goal"]
        else "no goal set"
    )
    return f"{name:<20} {figure['what']:<62} {measured:>12}  {verdict}"


def run(name: str, *, quick: bool) -> dict:
    """Runs one bench and returns its report. Raises CalledProcessError where it fails."""
    print(f"--- bench.{name}", flush=True)
    command = [sys.executable, "-m", f"bench.{name}", *(["--quick"] if quick else [])]
    answer = subprocess.run(command, cwd=FOLDER.parent, stdout=subprocess.PIPE, text=True, check=True)
    print(answer.stdout, end="", flush=True)
    return json.loads(answer.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    raise SystemExit(main())
