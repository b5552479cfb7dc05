"""The portal as one object with a small one per kind of thing: `hydra.jobs.create(…)`, `hydra.rewards.balance()`."""

from types import TracebackType
from typing import Self

import httpx

from client.resources import Account, Campaigns, Items, Network, Rewards, Submissions
from client.training import Jobs, Releases
from client.transport import Patience, Transport


class Hydra:
    """Keeps connections open until `close`, or the end of a `with` block. May be used by several threads."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        patience: Patience | None = None,
        http: httpx.BaseTransport | None = None,
    ) -> None:
        self.transport = Transport(url, token, patience=patience, http=http)
        self.account = Account(self.transport)
        self.campaigns = Campaigns(self.transport)
        self.submissions = Submissions(self.transport)
        self.items = Items(self.transport)
        self.rewards = Rewards(self.transport)
        self.releases = Releases(self.transport)
        self.jobs = Jobs(self.transport)
        self.network = Network(self.transport)

    @property
    def url(self) -> str:
        return self.transport.url

    def close(self) -> None:
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
