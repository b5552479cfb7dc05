"""What a stranger needs to verify a reward: ledger.chain without Django; the port and the fake without web3."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    "modules, absent",
    [
        (
            "ledger.chain.port, ledger.chain.fake, ledger.chain.devnode",
            "django web3 eth_abi eth_account requests",
        ),
        ("ledger.chain.web3_chain, ledger.chain.deploy", "django rest_framework celery"),
    ],
)
def test_loads_without(modules: str, absent: str) -> None:
    code = f"import sys, {modules}; print(*sorted(set({absent.split()}) & set(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == ""
