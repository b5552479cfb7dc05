"""Deploys the ledger's contract on the chain of the settings, once; ledger.chain.deploy does the work."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ledger.chain.deploy import deploy, wait_until_durable
from ledger.chain.web3_chain import ChainSettings
from ledger.errors import ChainError


class Command(BaseCommand):
    help = "Deploys HydraLedger, or says where it already stands. Safe to run again."

    def handle(self, *args: Any, **options: Any) -> None:
        chain = ChainSettings.read(settings, with_keys=True)
        try:
            done = deploy(chain)
            wait_until_durable(chain, done)
        except ChainError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"HydraLedger stands at {done.address} on chain {done.chain_id}, deployed in block {done.block} or the next"
        )
