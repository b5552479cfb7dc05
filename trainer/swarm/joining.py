"""How a peer becomes a member: the job's train files as pieces, a replica built from them, the network's state."""

import asyncio
import logging
import shutil
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, TypeVar

from trainer.errors import OutOfStep
from trainer.net.endpoint import Session
from trainer.net.pieces import PieceStore, fetch_file
from trainer.swarm.mesh import Mesh
from trainer.swarm.replica import Replica
from trainer.wire.canonical import parse_json
from trainer.wire.manifest import parse_files
from trainer.wire.messages import Address, Assign, Prepared, State, Synced

log = logging.getLogger("hydra.peer")
T = TypeVar("T")
Prepare = Callable[[Assign, dict[str, Any], list[Path]], Replica]


class Joiner:
    """Keeps the replica of the last job: a peer that comes back to it decodes nothing again."""

    def __init__(
        self, mesh: Mesh, store: PieceStore, cache: Path, prepare: Prepare, thread: Executor
    ) -> None:
        self.mesh, self.store, self.cache = mesh, store, cache
        self._prepare, self._thread = prepare, thread
        self._made: tuple[dict[str, Any], bytes, Replica] | None = None

    def replica(self, job: str) -> Replica:
        """Raises OutOfStep when this peer has prepared nothing for the job."""
        if self._made is None or self._made[0]["job"] != job:
            raise OutOfStep(-1, 0)
        return self._made[2]

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Runs in the one thread that may touch the replica, after whatever it still does."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def prepare(self, assign: Assign, manifest_json: bytes) -> Prepared:
        """Raises TrainerError: no holder has a file, or the release does not suit the recipe."""
        what = {**assign.to_dict(), "holders": None}
        if self._made is None or self._made[:2] != (what, manifest_json):
            self._made = None
            manifest = parse_json(manifest_json, "manifest")
            paths = await self._fetch(assign, manifest)
            replica = await self.in_thread(lambda: self._prepare(assign, manifest, paths))
            self._made = (what, manifest_json, replica)
        replica = self._made[2]
        return Prepared(job=assign.job, size=replica.size, n_items=replica.n_items)

    async def sync(self, state: State) -> Synced:
        """Takes over the network's state. Raises TrainerError; the replica is then as it was."""
        replica = self.replica(state.job)
        path = await fetch_file(state.file, state.holders, self.connect, self.cache)
        data = await asyncio.to_thread(path.read_bytes)
        await asyncio.to_thread(shutil.rmtree, path.parent)  # the next state is another one
        await self.in_thread(lambda: replica.import_state(data))
        digest = await self.in_thread(replica.state_digest)
        log.info("job %s: in step at %d", state.job[:8], replica.step)
        return Synced(job=state.job, step=replica.step, digest=digest)

    async def connect(self, address: Address) -> Session:
        return await self.mesh.endpoint.connect(address, "pieces", self.mesh.admission)

    async def _fetch(self, assign: Assign, manifest: dict[str, Any]) -> list[Path]:
        me = self.mesh.endpoint.identity.peer_id
        holders = [address for address in assign.holders if address.peer_id != me]
        paths = []
        for file in parse_files(manifest, "train"):
            path = await fetch_file(file, holders, self.connect, self.cache)
            self.store.add(file, path)
            paths.append(path)
        log.info("job %s: %d train files are here", assign.job[:8], len(paths))
        return paths
