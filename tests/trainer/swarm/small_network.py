"""A whole network in one loop, over memory or TCP: a backbone, followers, and a linear model in numpy that they train."""

import asyncio
import hashlib
import io
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trainer.clock import SystemClock
from trainer.errors import BadMessage, NotFinite, RoundAborted, TrainerError
from trainer.identity import Identity, from_seed
from trainer.net.channel import Transport
from trainer.net.endpoint import Endpoint, Session
from trainer.net.pieces import PieceStore, serve_pieces
from trainer.swarm.admission import Admission
from trainer.swarm.follower import Follower, FollowerSettings
from trainer.swarm.leader import Leader, LeaderSettings
from trainer.swarm.mesh import Mesh
from trainer.swarm.planning import Course
from trainer.swarm.replica import Computed
from trainer.swarm.roster import Roster, RosterSettings
from trainer.wire.canonical import canonical_json
from trainer.wire.files import PieceFile
from trainer.wire.messages import Address, Assign, Here
from trainer.wire.records import RoundRecord

N_ITEMS, N_FEATURES = 40, 6


def identity(number: int) -> Identity:
    return from_seed(bytes([number + 1]) * 32)


class LineReplica:
    """Least squares with momentum, on data that follow from `seed`: small, exact, and free of torch."""

    def __init__(self, dtype: str = "float64", seed: int = 3) -> None:
        random = np.random.default_rng(seed)
        self.inputs = random.normal(size=(N_ITEMS, N_FEATURES)).astype(dtype)
        self.answers = (self.inputs @ random.normal(size=N_FEATURES)).astype(dtype)
        self.weights = np.zeros(N_FEATURES, dtype)
        self.momentum = np.zeros(N_FEATURES, dtype)
        self.step, self.size, self.dtype, self.n_items = 0, N_FEATURES, dtype, N_ITEMS
        self.poison_at: int | None = None
        self.on_compute: Callable[[int], None] = lambda step: None

    def compute(self, indices: Sequence[int], should_stop: Callable[[], bool]) -> Computed:
        self.on_compute(self.step)
        if should_stop():
            raise RoundAborted(self.step, -1, "told to stop")
        if self.poison_at == self.step:
            raise NotFinite(self.step, "the loss")
        chosen = self.inputs[list(indices)]
        error = chosen @ self.weights - self.answers[list(indices)]
        gradient = 2 * (chosen.T @ error) / len(indices)
        return Computed(gradient.astype(self.dtype), float(np.mean(error**2)), len(indices))

    def apply(self, mean: np.ndarray) -> None:
        self.momentum = self.momentum * 0.9 + mean
        self.weights = self.weights - 0.02 * self.momentum
        self.step += 1

    def export_state(self) -> bytes:
        return struct.pack("<q", self.step) + self.weights.tobytes() + self.momentum.tobytes()

    def import_state(self, state: bytes) -> None:
        if len(state) != 8 + self.weights.nbytes * 2:
            raise BadMessage("state", "length", f"{len(state)} bytes")
        self.step = struct.unpack("<q", state[:8])[0]
        self.weights, self.momentum = np.frombuffer(state[8:], self.dtype).reshape(2, -1).copy()

    def state_digest(self) -> str:
        return hashlib.sha256(self.export_state()).hexdigest()


def make_release(folder: Path) -> tuple[dict, Path]:
    path = folder / "train-00000.jsonl"
    path.write_bytes(b'{"id":"a"}\n' * 4000)
    entry = PieceFile.of_stream(path.name, io.BytesIO(path.read_bytes()), 4096).to_dict()
    manifest = {"format": "hydra-release/1", "release": "r", "files": [{**entry, "role": "train"}]}
    return manifest, path


@dataclass
class Job:
    replica: LineReplica
    steps: int
    manifest: bytes = b"{}"
    batch: int = 10
    terms: int = 0
    records: list[RoundRecord] = field(default_factory=list)
    on_commit: Callable[[int], None] = lambda step: None

    def __post_init__(self) -> None:
        self.course = Course("job-1", self.batch, 7, N_ITEMS, N_FEATURES, self.replica.dtype)
        self.assign = Assign(job="job-1", recipe="line", recipe_version="1", parameters={}, holders=())

    def find_end(self) -> str | None:
        return "all steps are done" if self.replica.step >= self.steps else None

    def next_term(self) -> int:
        self.terms += 1
        return self.terms

    async def committed(self, record: RoundRecord) -> None:
        self.records.append(record)
        self.on_commit(self.replica.step)


@dataclass
class Volunteer:
    number: int
    follower: Follower
    replica: LineReplica
    task: asyncio.Task | None = None
    listener: object = None

    @property
    def peer_id(self) -> str:
        return identity(self.number).peer_id


class Network:
    """`transports(name)` gives each process its transport. Everybody is enrolled unless `strangers` names them."""

    def __init__(self, transports: Callable[[str], Transport], folder: Path, dtype: str = "float64") -> None:
        self._transports, self.folder, self.dtype = transports, folder, dtype
        self.volunteers: dict[int, Volunteer] = {}
        self.strangers: set[str] = set()
        self.manifest, self.shard = make_release(folder)
        self._thread = ThreadPoolExecutor(1)

    async def start(self, settings: LeaderSettings = LeaderSettings(), silence_s: float = 5.0) -> None:  # noqa: B008
        endpoint = Endpoint(self._transports("backbone"), identity(0), SystemClock())
        self.mesh, store = Mesh(endpoint), PieceStore()
        store.add(
            PieceFile.from_dict({k: v for k, v in self.manifest["files"][0].items() if k != "role"}),
            self.shard,
        )

        async def is_enrolled(peer_id: str) -> bool:
            return peer_id not in self.strangers

        self.roster = Roster(endpoint, is_enrolled, RosterSettings(beat_s=0.2, silence_s=silence_s))

        async def on_session(session: Session) -> None:
            if session.purpose == "control":
                await self.roster.serve(session)
            elif session.purpose == "parts":
                await self.mesh.serve(session)
            else:
                await serve_pieces(session, store)

        self.listener = await endpoint.listen("127.0.0.1", 0, on_session)
        self.backbone = Address(peer_id=identity(0).peer_id, host="127.0.0.1", port=self.listener.port)
        self.leader = Leader(
            Admission(self.roster, store, self.backbone, self._thread, 5.0), self.mesh, settings
        )
        self.beat = asyncio.create_task(self.roster.beat())

    def job(self, steps: int, **options) -> Job:
        return Job(LineReplica(self.dtype), steps, canonical_json(self.manifest), **options)

    async def join(self, number: int, replica: LineReplica | None = None) -> Volunteer:
        endpoint = Endpoint(self._transports(f"peer-{number}"), identity(number), SystemClock())
        replica = replica or LineReplica(self.dtype)
        cache = self.folder / f"cache-{number}"
        follower = Follower(endpoint, lambda *_: replica, FollowerSettings(cache, beat_s=0.2, silence_s=5.0))
        volunteer = Volunteer(number, follower, replica)
        volunteer.listener = await endpoint.listen("127.0.0.1", 0, follower.on_session)
        here = Here(host="127.0.0.1", port=volunteer.listener.port, name=f"peer-{number}")
        volunteer.task = asyncio.create_task(self._serve(volunteer, here))
        self.volunteers[number] = volunteer
        return volunteer

    async def wait_for_peers(self, count: int) -> None:
        while len(self.roster.seats) < count:
            await asyncio.sleep(0.001)

    async def prepare_all(self, job: Job) -> None:
        """Until everybody who is here has prepared, so that all are members from the first step on."""
        admission = self.leader.admission
        await admission.offer_all(job)
        while len(admission.seats("prepared")) < len(self.roster.seats):
            await admission.hear_all(job, self.roster.endpoint.clock.monotonic() + 0.1)

    def kill(self, number: int) -> None:
        """Ends a volunteer at once, without a word."""
        volunteer = self.volunteers[number]
        volunteer.task.cancel()
        volunteer.listener.close()

    async def stop(self) -> None:
        for number in [*self.volunteers]:
            self.kill(number)
            self.volunteers[number].follower.close()
        self._thread.shutdown()
        self.beat.cancel()
        self.listener.close()
        self.mesh.close()
        for seat in [*self.roster.seats.values()]:
            seat.session.close()
        await asyncio.sleep(0)

    async def _serve(self, volunteer: Volunteer, here: Here) -> None:
        try:
            await volunteer.follower.serve(self.backbone, here)
        except TrainerError as error:
            volunteer.error = error
