"""A volunteer's process: enrols once, finds the backbone through the market, works for it, comes back when it is lost."""

import asyncio
import json
import logging
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

from trainer.clock import SystemClock
from trainer.config import JoinSettings, write_private
from trainer.errors import (
    BadMessage,
    Dismissed,
    EnrolmentRefused,
    HandshakeRefused,
    MarketError,
    MarketRefused,
    NotEnrolled,
    SettingInvalid,
    TrainerError,
)
from trainer.identity import Identity, load_or_create
from trainer.market.api import Market
from trainer.net.endpoint import Endpoint
from trainer.net.tcp import TcpTransport
from trainer.swarm.follower import Follower, FollowerSettings
from trainer.swarm.replica import Replica
from trainer.wire.messages import Address, Assign, Here

log = logging.getLogger("hydra.peer")
ENROLMENT_FILE, BACKBONES_FILE = "enrolment.json", "backbones.json"
LEAVE_S = 15.0  # a goodbye that takes longer is cut short
FIRST_WAIT_S, LONGEST_WAIT_S = 0.3, 8.0


def prepare(assign: Assign, manifest: dict[str, Any], paths: list[Path]) -> Replica:
    """Builds the replica of a job; imports torch on first use. Raises ReleaseInvalid."""
    from trainer.strategies.build import build_replica, check_version

    check_version(assign.recipe, assign.recipe_version)
    return build_replica(assign.recipe, assign.parameters, manifest, paths)


def load_torch() -> None:
    """Ahead of the first job, beside the connecting: torch and, as long again, what its optimizers load."""
    import torch

    torch.set_num_threads(1)
    torch.optim.SGD([torch.zeros(1)])
    import trainer.strategies.build  # noqa: F401


def ensure_enrolled(settings: JoinSettings, identity: Identity, market: Market) -> str:
    """The peer's API token: from the home folder, or by the one-time code. Raises NotEnrolled, EnrolmentRefused, MarketError."""
    path = settings.home / ENROLMENT_FILE
    if path.exists():
        return _read_enrolment(path, identity, settings.market)
    if not settings.code:
        raise NotEnrolled(str(settings.home))
    try:
        enrolment = market.enrol(settings.code, identity.public_key, settings.name)
    except MarketRefused as error:
        raise EnrolmentRefused(error.said) from error
    if enrolment.peer_id != identity.peer_id:
        raise SettingInvalid(str(path), "the market enrolled another key than this peer's")
    saved = {"peer_id": enrolment.peer_id, "token": enrolment.token, "market": settings.market}
    write_private(path, json.dumps(saved))
    log.info("enrolled as %s (%s)", settings.name, identity.peer_id[:12])
    return enrolment.token


def _read_enrolment(path: Path, identity: Identity, market: str) -> str:
    try:
        saved = json.loads(path.read_text())
        peer_id, token, enrolled_at = saved["peer_id"], saved["token"], saved["market"]
    except (ValueError, KeyError, TypeError) as error:
        raise SettingInvalid(str(path), "damaged: remove it and enrol with a new code") from error
    if peer_id != identity.peer_id:
        raise SettingInvalid(str(path), "made for another key: remove it and enrol with a new code")
    if enrolled_at != market:
        log.warning("enrolled at %s, used with %s", enrolled_at, market)
    return token


class Worker:
    def __init__(self, settings: JoinSettings, identity: Identity, market: Market) -> None:
        self.settings, self.identity, self.market = settings, identity, market
        self.endpoint = Endpoint(TcpTransport(), identity, SystemClock())
        chance = random.Random(identity.peer_id)
        self._chance, delay_s = chance, settings.rounds_delay_ms / 1000
        follower_settings = FollowerSettings(
            settings.home / "cache", pause_s=lambda: chance.random() * delay_s
        )
        self.follower = Follower(self.endpoint, prepare, follower_settings)
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Until `stop`; every loss of the backbone is followed by a wait that doubles up to a few seconds."""
        listener = await self.endpoint.listen(self.settings.host, 0, self.follower.on_session)
        here = Here(host=self.settings.host, port=listener.port, name=self.settings.name)
        warm = asyncio.create_task(self.follower.joiner.in_thread(load_torch))
        wait_s = FIRST_WAIT_S
        try:
            while not self._stop.is_set():
                committed = self.follower.rounds.committed
                await self._work(here)
                wait_s = FIRST_WAIT_S if self.follower.rounds.committed > committed else wait_s
                await self._pause(wait_s * (0.5 + self._chance.random()))
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        finally:
            warm.cancel()
            listener.close()
            self.follower.close()
            self.market.close()
            log.info("left after %d rounds", self.follower.rounds.committed)

    def stop(self) -> None:
        """Leaves between rounds; called again, or after a while, at once."""
        if self._stop.is_set():
            raise KeyboardInterrupt
        log.info("leaving after the running round")
        self._stop.set()
        self._goodbye = asyncio.ensure_future(self.follower.leave())

    async def _work(self, here: Here) -> None:
        """One session with the first backbone that takes it."""
        for address in await self._find_backbones():
            serving = asyncio.ensure_future(self.follower.serve(address, here))
            stopping = asyncio.ensure_future(self._stop.wait())
            try:
                await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
                async with asyncio.timeout(LEAVE_S if self._stop.is_set() else None):
                    await serving
                return
            except (HandshakeRefused, Dismissed) as error:
                log.error("%s", error)
            except TimeoutError:
                log.warning("the backbone did not let go in time")
            except TrainerError as error:
                log.warning("lost the backbone: %s", error)
            finally:
                stopping.cancel()
                serving.cancel()
            if self._stop.is_set():
                return

    async def _find_backbones(self) -> list[Address]:
        """As the market says, or as it said last when it is away."""
        known = self.settings.home / BACKBONES_FILE
        try:
            found = await asyncio.to_thread(self.market.fetch_backbones)
            if found:
                write_private(known, json.dumps([address.to_dict() for address in found]))
            else:
                log.info("no backbone is announced; waiting")
            return found
        except MarketError as error:
            log.warning("%s", error)
        with suppress(OSError, ValueError, TypeError, BadMessage):
            return [Address.from_dict(entry) for entry in json.loads(known.read_text())]
        return []

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()


def make_worker(settings: JoinSettings) -> Worker:
    """Enrols when needed. Raises TrainerError, in words for the volunteer."""
    identity = load_or_create(settings.home)
    market = Market(settings.market)
    try:
        market.token = ensure_enrolled(settings, identity, market)
    except TrainerError:
        market.close()
        raise
    return Worker(settings, identity, market)
