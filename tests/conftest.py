"""What holds for every test."""

import sys
from collections.abc import Iterator

import pytest

USUAL_RECURSION_LIMIT = sys.getrecursionlimit()


@pytest.fixture(autouse=True)
def _usual_recursion_limit(request: pytest.FixtureRequest) -> Iterator[None]:
    """py-evm raises the limit for the whole process when it is imported, so far that deeply nested JSON ends the
    process instead of raising RecursionError as it does in production."""
    if "contracts" in request.path.parts or "chain" in request.path.parts:
        yield
        return
    raised = sys.getrecursionlimit()
    sys.setrecursionlimit(min(raised, max(USUAL_RECURSION_LIMIT, 1000)))
    yield
    sys.setrecursionlimit(raised)
