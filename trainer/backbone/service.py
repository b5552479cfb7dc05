"""The backbone's process: listens, keeps the market informed, runs the market's jobs one after another."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from trainer.backbone.enrolled import Enrolled
from trainer.backbone.jobrun import JobRun, Place, Ticket
from trainer.clock import SystemClock
from trainer.config import BackboneSettings
from trainer.errors import BadMessage, MarketError, NotFinite, TrainerError
from trainer.identity import load_or_create
from trainer.market.api import Market
from trainer.market.outbox import Outbox
from trainer.net.endpoint import Endpoint, Session
from trainer.net.pieces import PieceStore, serve_pieces
from trainer.net.tcp import TcpTransport
from trainer.swarm.admission import Admission
from trainer.swarm.leader import Leader, LeaderSettings
from trainer.swarm.mesh import Mesh
from trainer.swarm.roster import Roster, RosterSettings, Seat
from trainer.wire.messages import Address

log = logging.getLogger("hydra.backbone")
STATES = {"member": "training", "preparing": "syncing", "prepared": "syncing", "syncing": "syncing"}
JOIN_S = 20.0
RETRY_S = 3.0
ANNOUNCE_S = 4.0  # the market forgets a backbone that it has not heard of for some seconds


class Backbone:
    def __init__(self, settings: BackboneSettings) -> None:
        self.settings, self.clock = settings, SystemClock()
        self.identity = load_or_create(settings.home)
        self.market = Market(settings.market, settings.token, tries=1)
        self.outbox = Outbox(settings.home / "outbox")
        self.store = PieceStore()
        self.enrolled = Enrolled(settings.home, self.market)
        self.endpoint = Endpoint(TcpTransport(), self.identity, self.clock)
        self.mesh = Mesh(self.endpoint)
        self.roster = Roster(self.endpoint, self.enrolled.is_active, RosterSettings())
        self._thread = ThreadPoolExecutor(1, "replica")
        self._stop = asyncio.Event()
        self._runnable: list[Ticket] = []
        self._current: JobRun | None = None
        self._reported: set[str] = set()
        self._announced_at = float("-inf")

    async def run(self) -> None:
        """Until `stop`. Raises Unreachable when the port cannot be had."""
        listener = await self.endpoint.listen(self.settings.host, self.settings.port, self._on_session)
        self.me = Address(peer_id=self.identity.peer_id, host=self.settings.host, port=listener.port)
        log.info("backbone %s listens on %s:%d", self.me.peer_id[:12], self.me.host, self.me.port)
        admission = Admission(self.roster, self.store, self.me, self._thread, JOIN_S)
        self.leader = Leader(admission, self.mesh, LeaderSettings())
        beside = [asyncio.create_task(self.roster.beat()), asyncio.create_task(self._keep_market())]
        try:
            while not self._stop.is_set():
                await self._next_job()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            listener.close()
            await asyncio.to_thread(self.outbox.send_all, self.market)
            for seat in [*self.roster.seats.values()]:
                seat.session.close()
            self.mesh.close()
            self.market.close()
            self._thread.shutdown(wait=False, cancel_futures=True)

    def stop(self) -> None:
        """Ends after the running round; the job is durable and goes on at the next start."""
        if self._stop.is_set():
            raise KeyboardInterrupt
        log.info("stopping after the running round")
        self._stop.set()

    # sessions

    async def _on_session(self, session: Session) -> None:
        if session.purpose == "control":
            await self.roster.serve(session)
        elif not await self.enrolled.is_active(session.peer_id):
            await session.refuse("this peer is not enrolled")
        elif session.purpose == "parts":
            await self.mesh.serve(session)
        else:
            await serve_pieces(session, self.store)

    # jobs

    async def _next_job(self) -> None:
        place = Place(self.settings, self.market, self.outbox, self.store, self.clock)
        for ticket in self._runnable:
            job = JobRun(ticket, place, self._stop.is_set)
            if not job.folder.is_over:
                await self._run_job(job)
                return
        await self.leader.idle(0.2)

    async def _run_job(self, job: JobRun) -> None:
        log.info("job %s: %s on release %s", job.ticket.id[:8], job.ticket.recipe, job.ticket.release[:8])
        self._current = job
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, job.prepare)
            await job.end(await self.leader.lead(job))
        except MarketError as error:
            log.warning("job %s waits: %s", job.ticket.id[:8], error)
            await self.leader.idle(RETRY_S)
        except NotFinite as error:
            await asyncio.to_thread(job.finish, "failed", str(error))
        except TrainerError as error:
            job.fail(str(error))
        except Exception as error:
            log.exception("job %s broke", job.ticket.id[:8])
            job.fail(f"{type(error).__name__}: {error}")
        finally:
            self._current = None

    # the market

    async def _keep_market(self) -> None:
        """Announces, reports, sends what waits, looks for jobs: over and over, whatever the market does."""
        while True:
            try:
                await asyncio.to_thread(self._tell_market, self._presence())
                await self._drop_inactive()
            except (MarketError, BadMessage) as error:
                log.warning("%s", error)
            except Exception:
                log.exception("talking to the market failed")
            await asyncio.sleep(self.settings.poll_s)

    def _tell_market(self, presence: list[dict[str, object]]) -> None:
        if self.clock.monotonic() - self._announced_at > ANNOUNCE_S:
            self.market.announce(self.me, self.identity.public_key)
            self._announced_at = self.clock.monotonic()
        self.outbox.send_all(self.market)
        self.enrolled.refresh()
        if presence:
            self.market.post("/network/presence", {"peers": presence})
        runnable = []
        for entry in self.market.fetch_jobs():
            try:
                runnable.append(Ticket.of_listing(entry))
            except BadMessage as error:
                log.error("the market lists a job that cannot be read: %s", error)
        self._runnable = runnable
        current = self._current
        if current is not None and current.ticket.id not in {ticket.id for ticket in runnable}:
            current.cancelled = not current.folder.is_over

    def _presence(self) -> list[dict[str, object]]:
        """Who is here, and once each who has gone since the last report."""
        job = self._current.ticket.id if self._current else None
        gone = self._reported - set(self.roster.seats)
        self._reported = set(self.roster.seats)
        here = [self._describe(seat, job) for seat in self.roster.seats.values()]
        return here + [{"peer_id": peer_id, "state": "offline"} for peer_id in sorted(gone)]

    def _describe(self, seat: Seat, job: str | None) -> dict[str, object]:
        state = STATES.get(seat.state, "idle")
        return {
            "peer_id": seat.peer_id, "name": seat.name, "state": state, "job": job if state != "idle" else None,
            "samples_per_s": round(seat.speed, 1), "bytes_in": seat.bytes_in, "bytes_out": seat.bytes_out,
        }  # fmt: skip

    async def _drop_inactive(self) -> None:
        for seat in [*self.roster.seats.values()]:
            if not self.enrolled.knows(seat.peer_id):
                log.warning("peer %s is no longer enrolled, dropped", seat.name)
                self.roster.drop(seat, "this peer is no longer enrolled")
