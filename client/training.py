"""Releases and jobs: what is trained on, and training."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from client.downloads import Progress, Wanted, download
from client.errors import NotFound, UnexpectedAnswer
from client.resources import Resource
from client.transport import JSON

BESIDE_THE_SHARDS = ("croissant.json", "evidence.jsonl")


@dataclass(frozen=True)
class JobOrder:
    """A job as it is ordered. `parameters` are those that differ from the recipe's defaults."""

    release: str
    recipe: str
    credit_limit_nano: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    strategy: str = "sync"


class Releases(Resource):
    def list(self, campaign: str) -> Iterator[JSON]:
        return self._transport.pages(f"/campaigns/{campaign}/releases")

    def build(self, campaign: str, *, key: str | None = None) -> JSON:
        """Starts it; see `wait`."""
        return self._transport.post(f"/campaigns/{campaign}/releases", key=key)

    def show(self, release: str) -> JSON:
        return self._transport.get(f"/releases/{release}")

    def wait(self, release: str, *, every_s: float = 1.0) -> JSON:
        """Polls until it is `ready` or `failed`."""
        while True:
            shown = self.show(release)
            if shown["state"] != "building":
                return shown
            self._transport.patience.sleep(every_s)

    def manifest(self, release: str) -> JSON:
        return self._transport.get(f"/releases/{release}/manifest")

    def download(self, release: str, folder: Path, *, progress: Progress | None = None) -> Sequence[Path]:
        """All files into `folder`, each checked against the manifest, the manifest against the release's hash.

        Files that are there already and right are not fetched again; broken-off ones are continued.
        """
        shown = self.show(release)
        if shown["state"] != "ready":
            raise NotFound(
                404, "not_ready", f"The release is {shown['state']}, so it has no files to download."
            )
        wanted = Wanted(f"/releases/{release}/manifest", folder / "manifest.json", shown["manifest_sha256"])
        paths = [download(self._transport, wanted, progress)]
        for name, sha256 in self._files_of(paths[0]):
            wanted = Wanted(f"/releases/{release}/files/{name}", folder / name, sha256)
            paths.append(download(self._transport, wanted, progress))
        for name in BESIDE_THE_SHARDS:
            try:
                wanted = Wanted(f"/releases/{release}/files/{name}", folder / name)
                paths.append(download(self._transport, wanted, progress))
            except NotFound:
                continue
        return paths

    def _files_of(self, manifest: Path) -> Iterator[tuple[str, str]]:
        try:
            files = [(entry["name"], entry["sha256"]) for entry in json.loads(manifest.read_bytes())["files"]]
        except (ValueError, KeyError, TypeError) as exc:
            raise UnexpectedAnswer(
                self._transport.url, 200, f"the manifest cannot be read ({exc!r})"
            ) from exc
        for name, _ in files:
            if Path(name).name != name or name.startswith("."):
                raise UnexpectedAnswer(self._transport.url, 200, f"the manifest names a file {name!r}")
        yield from files


class Jobs(Resource):
    def recipes(self) -> Sequence[JSON]:
        return [*self._transport.pages("/recipes")]

    def create(self, order: JobOrder, *, key: str | None = None) -> JSON:
        """Locks the credit limit. Raises: Conflict with code `insufficient_funds`."""
        return self._transport.post("/jobs", vars(order) | {"parameters": dict(order.parameters)}, key=key)

    def list(self, *, state: str = "") -> Iterator[JSON]:
        return self._transport.pages("/jobs", state=state)

    def show(self, job: str) -> JSON:
        return self._transport.get(f"/jobs/{job}")

    def rounds(self, job: str) -> Iterator[JSON]:
        return self._transport.pages(f"/jobs/{job}/rounds")

    def curve(self, job: str) -> JSON:
        return self._transport.get(f"/jobs/{job}/curve")

    def batch(self, job: str, step: int) -> JSON:
        """Which items the step's batch held."""
        return self._transport.get(f"/jobs/{job}/batches/{step}")

    def cancel(self, job: str, *, key: str | None = None) -> JSON:
        return self._transport.post(f"/jobs/{job}/cancel", key=key)

    def watch(self, job: str, seen: Callable[[JSON], None], *, every_s: float = 2.0) -> JSON:
        """Calls `seen` with the job again and again until it is over; → the job at its end."""
        while True:
            shown = self.show(job)
            seen(shown)
            if shown["is_over"]:
                return shown
            self._transport.patience.sleep(every_s)

    def checkpoint(self, job: str, target: Path, *, progress: Progress | None = None) -> Path:
        """The newest checkpoint, checked against the job's hash of it. A folder as target gets the usual name.

        Raises: NotFound, where there is none yet.
        """
        shown = self.show(job)
        newest = shown["checkpoint"]
        if not newest:
            raise NotFound(404, "not_found", "The job has no checkpoint yet.")
        if target.is_dir():
            target = target / f"{shown['recipe']}-step{newest['step']}.safetensors"
        return download(
            self._transport, Wanted(f"/jobs/{job}/checkpoint", target, newest["sha256"]), progress
        )
