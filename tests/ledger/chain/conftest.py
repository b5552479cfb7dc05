"""One anvil for the whole session; each test that changes it finds it as it was deployed."""

from collections.abc import Iterator

import pytest

from ledger.chain.deploy import Limits
from tests.ledger.chain.node import AnvilNode, running_anvil

LIMITS = Limits(window_cap=1000, window_s=3600)


@pytest.fixture(scope="session")
def anvil_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnvilNode]:
    with running_anvil(tmp_path_factory.mktemp("anvil"), LIMITS) as node:
        yield node


@pytest.fixture
def anvil(anvil_session: AnvilNode) -> Iterator[AnvilNode]:
    before = anvil_session.ask("evm_snapshot")
    yield anvil_session
    anvil_session.ask("anvil_dropAllTransactions")
    anvil_session.ask("evm_setAutomine", True)
    anvil_session.ask("evm_revert", before)
