"""`manage.py reconcile`: contract against books against outbox. Exit 0: they agree; 1: they do not; 2: could not look."""

import json

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from ledger.connect import open_chain
from ledger.errors import LedgerError
from ledger.reconcile import reconcile, sound_alarm


class Command(BaseCommand):
    help = "Compares contract, books and outbox; a difference is an alarm and a non-zero exit."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the findings as JSON")

    def handle(self, *args: object, **options: bool) -> None:
        try:
            chain = open_chain()
            findings = reconcile(chain, f"{chain.chain_id}:{chain.contract}")
        except LedgerError as error:
            self.stderr.write(f"Could not reconcile: {error}")
            raise SystemExit(2) from error
        sound_alarm(findings, timezone.now())
        if options["json"]:
            self.stdout.write(json.dumps([vars(finding) for finding in findings]))
        else:
            for finding in findings:
                self.stdout.write(f"{finding.code}: {finding.subject}: {finding.detail}")
            self.stdout.write(
                f"{len(findings)} differences." if findings else "Contract, books and outbox agree."
            )
        if findings:
            raise SystemExit(1)
