"""`manage.py run_indexer`: reads the chain into the books until SIGTERM."""

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from ledger import loop
from ledger.connect import open_indexer
from ledger.errors import LedgerError


class Command(BaseCommand):
    help = "Reads events and outcomes from the chain into the books, until SIGTERM."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--idle-s", type=float, default=0.25, help="pause when there is nothing new")

    def handle(self, *args: object, **options: float) -> None:
        stop = loop.Stop().listen()
        try:
            indexer = open_indexer()
            loop.run(
                indexer.step,
                clock=timezone.now,
                sleep=stop.wait,
                is_over=stop.is_set,
                idle_s=options["idle_s"],
            )
        except LedgerError as error:
            raise CommandError(str(error)) from error
