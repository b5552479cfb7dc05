"""Account, campaigns, submissions, items, rewards, network: one method per door of the API.

Methods that create take a `key`; calling again with the same key has the effect of calling once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from client import uploads
from client.downloads import Wanted, download
from client.transport import JSON, Transport


class Resource:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport


class Account(Resource):
    def register(self, email: str, password: str, *, display_name: str = "") -> JSON:
        """Raises: NotFound, where people register on the pages only."""
        body = {"email": email, "password": password, "display_name": display_name}
        return self._transport.post_once("/auth/register", body)

    def issue_token(
        self, email: str, password: str, *, name: str, scopes: Sequence[str], code: str = ""
    ) -> JSON:
        """{"token", …}. Raises: Unauthenticated with code `bad_credentials` or `code_needed` (two-factor login)."""
        body = {"email": email, "password": password, "name": name, "scopes": list(scopes)}
        return self._transport.post_once("/auth/token", body | ({"code": code} if code else {}))

    def revoke_token(self) -> None:
        """Ends the token that this client uses."""
        self._transport.post_once("/auth/revoke")

    def me(self) -> JSON:
        return self._transport.get("/me")


class Campaigns(Resource):
    def list(self, *, state: str = "", modality: str = "") -> Iterator[JSON]:
        return self._transport.pages("/campaigns", state=state, modality=modality)

    def show(self, slug: str) -> JSON:
        return self._transport.get(f"/campaigns/{slug}")

    def create(self, draft: Mapping[str, Any], *, key: str | None = None) -> JSON:
        return self._transport.post("/campaigns", draft, key=key)

    def change(self, slug: str, changes: Mapping[str, Any]) -> JSON:
        return self._transport.patch(f"/campaigns/{slug}", changes)

    def open(self, slug: str, *, key: str | None = None) -> JSON:
        return self._transport.post(f"/campaigns/{slug}/open", key=key)

    def close(self, slug: str, *, key: str | None = None) -> JSON:
        return self._transport.post(f"/campaigns/{slug}/close", key=key)

    def fund(self, slug: str, amount_nano: int, *, key: str | None = None) -> JSON:
        return self._transport.post(f"/campaigns/{slug}/fund", {"amount_nano": amount_nano}, key=key)


class Submissions(Resource):
    def start(self, campaign: str, consent_version: int, *, key: str | None = None) -> JSON:
        """Agrees to the campaign's consent text in that version."""
        body = {"consent_version": consent_version}
        return self._transport.post(f"/campaigns/{campaign}/submissions", body, key=key)

    def list(self, *, campaign: str = "", state: str = "") -> Iterator[JSON]:
        return self._transport.pages("/submissions", campaign=campaign, state=state)

    def show(self, submission: str) -> JSON:
        return self._transport.get(f"/submissions/{submission}")

    def send(
        self,
        submission: str,
        files: Iterable[uploads.UploadFile],
        terms: uploads.Terms | None = None,
        *,
        progress: uploads.Progress | None = None,
        at_once: int = uploads.AT_ONCE,
    ) -> Sequence[uploads.Sent]:
        """See uploads.send_files."""
        return uploads.send_files(
            self._transport, submission, files, terms or uploads.Terms(), progress=progress, at_once=at_once
        )

    def complete(self, submission: str, *, key: str | None = None) -> JSON:
        return self._transport.post(f"/submissions/{submission}/complete", key=key)

    def items(self, submission: str, *, state: str = "") -> Iterator[JSON]:
        return self._transport.pages(f"/submissions/{submission}/items", state=state, limit=200)

    def wait(
        self, submission: str, *, progress: Callable[[JSON], None] | None = None, every_s: float = 1.0
    ) -> JSON:
        """Polls until validation is over (state `judged`); pending items may still wait for a person."""
        while True:
            shown = self.show(submission)
            if progress:
                progress(shown)
            if shown["state"] == "judged":
                return shown
            self._transport.patience.sleep(every_s)


class Items(Resource):
    """Items, and what moderators decide about them."""

    def show(self, item: str) -> JSON:
        return self._transport.get(f"/items/{item}")

    def download(self, item: str, target: Path) -> Path:
        """The served copy: re-encoded, without metadata."""
        return download(self._transport, Wanted(f"/items/{item}/content", target))

    def queue(self, *, campaign: str = "") -> Iterator[JSON]:
        return self._transport.pages("/moderation/queue", campaign=campaign)

    def decide(self, items: Sequence[str], outcome: str, reason: str, *, key: str | None = None) -> JSON:
        """All of them or, where one is refused, none. → {"decided", "verdicts"}."""
        body = {"items": list(items), "outcome": outcome, "reason": reason}
        return self._transport.post("/moderation/verdicts", body, key=key)


class Rewards(Resource):
    def balance(self) -> JSON:
        return self._transport.get("/rewards/balance")

    def statement(self, *, kind: str = "") -> Iterator[JSON]:
        """Newest first."""
        return self._transport.pages("/rewards/statement", kind=kind)

    def unlock(self, amount_nano: int, *, key: str | None = None) -> JSON:
        return self._transport.post("/rewards/unlock", {"amount_nano": amount_nano}, key=key)

    def totals(self) -> JSON:
        """The ledger's: the books' sums beside the contract's own."""
        return self._transport.get("/ledger/totals")


class Network(Resource):
    def code(self) -> JSON:
        """A one-time code; the peer that enrols with it earns for this account."""
        return self._transport.post_once("/network/codes")

    def enrol(self, code: str, public_key: str, name: str) -> JSON:
        return self._transport.post_once(
            "/network/enrol", {"code": code, "public_key": public_key, "name": name}
        )

    def backbones(self) -> Iterator[JSON]:
        return self._transport.pages("/network/backbones")

    def peers(self) -> Iterator[JSON]:
        return self._transport.pages("/network/peers")
