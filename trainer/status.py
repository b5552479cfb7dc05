"""What `python -m trainer status` shows: this peer's identity, its enrolment, and what the market says of the network."""

import json
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from trainer.errors import MarketError, NotEnrolled
from trainer.identity import KEY_FILE, load_or_create
from trainer.market.api import Market
from trainer.worker import ENROLMENT_FILE


def describe(home: Path, market_url: str | None) -> dict[str, Any]:
    """Raises NotEnrolled when the folder is nobody's; makes nothing."""
    if not (home / KEY_FILE).exists():
        raise NotEnrolled(str(home))
    saved: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        saved = json.loads((home / ENROLMENT_FILE).read_text())
    url = market_url or saved.get("market")
    facts: dict[str, Any] = {
        "peer_id": load_or_create(home).peer_id,
        "enrolled": bool(saved),
        "market": url,
        "market_reachable": False,
        "backbones": [],
    }
    if url:
        with suppress(MarketError), closing(Market(url, saved.get("token", ""), tries=1)) as market:
            found = market.fetch_backbones()
            facts["backbones"] = [f"{address.host}:{address.port}" for address in found]
            facts["market_reachable"] = True
    return facts
