"""Makes the sender and the indexer from Django's settings; the only module of ours that names the real chain."""

import os
import socket

from django.conf import settings

from ledger.chain.deployment import fetch_deployment
from ledger.chain.port import Chain
from ledger.chain.web3_chain import ChainSettings, Web3Chain
from ledger.indexer import Indexer
from ledger.sender import Pace, Sender


def open_chain(*, with_keys: bool = False) -> Chain:
    """Raises: WrongChain when nothing is deployed, or for another chain."""
    return Web3Chain.open(ChainSettings.read(settings, with_keys=with_keys))


def open_sender() -> Sender:
    pace = Pace(
        max_age_s=getattr(settings, "HYDRA_BATCH_AGE_S", Pace.max_age_s),
        resend_s=getattr(settings, "HYDRA_RESEND_S", Pace.resend_s),
    )
    return Sender(open_chain(with_keys=True), f"{socket.gethostname()}:{os.getpid()}", pace)


def open_indexer() -> Indexer:
    """`start` is the deployment's block: the contract has no events before."""
    start = fetch_deployment(ChainSettings.read(settings, with_keys=False).chain_dir).block
    return Indexer(open_chain(), settings.HYDRA_CONFIRMATIONS, start)
