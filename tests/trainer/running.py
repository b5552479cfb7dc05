"""How these tests run coroutines: a fresh uvloop each, with a limit, so that a hang is a failure and not a wait."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T], limit_s: float = 10.0) -> T:
    async def limited() -> T:
        async with asyncio.timeout(limit_s):
            return await work

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(limited())
