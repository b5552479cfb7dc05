"""`manage.py ledger_totals`: the contract's own sums, read from the chain, beside the books."""

import json
from dataclasses import asdict

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ledger import service
from ledger.connect import open_chain
from ledger.errors import LedgerError


class Command(BaseCommand):
    help = "Prints the contract's own sums beside the books' (nano)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: object, **options: bool) -> None:
        try:
            chain = open_chain()
            contract, head = asdict(chain.totals()), chain.head()
        except LedgerError as error:
            raise CommandError(str(error)) from error
        totals = service.totals()
        report = {
            "contract": contract,
            "block": head.number,
            "books": totals.books,
            "indexed": totals.chain,
            "indexed_block": totals.block,
        }
        if options["json"]:
            self.stdout.write(json.dumps(report))
            return
        for title, sums in (("contract", contract), ("indexed", totals.chain), ("books", totals.books)):
            self.stdout.write(f"{title}:")
            for name, amount in sums.items():
                self.stdout.write(f"  {name:<16}{amount:>24}")
