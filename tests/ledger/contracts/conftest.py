"""One contract for all tests of this folder, put back to its first state after each."""

from collections.abc import Iterator

import pytest

from tests.ledger.contracts.evm import Evm


@pytest.fixture(scope="session")
def deployed() -> Evm:
    return Evm()


@pytest.fixture
def evm(deployed: Evm) -> Iterator[Evm]:
    before = deployed.tester.take_snapshot()
    yield deployed
    deployed.tester.revert_to_snapshot(before)
