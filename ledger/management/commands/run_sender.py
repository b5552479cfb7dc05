"""`manage.py run_sender`: takes the outbox to the contract until SIGTERM. A second one waits for the lease."""

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from ledger import loop
from ledger.connect import open_sender
from ledger.errors import LedgerError


class Command(BaseCommand):
    help = "Seals, signs and sends what waits in the outbox, until SIGTERM."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--idle-s", type=float, default=0.25, help="pause when there is nothing to do")

    def handle(self, *args: object, **options: float) -> None:
        stop = loop.Stop().listen()
        try:
            sender = open_sender()
            loop.run(
                sender.step,
                clock=timezone.now,
                sleep=stop.wait,
                is_over=stop.is_set,
                idle_s=options["idle_s"],
            )
            sender.give_up_lease(timezone.now())
        except LedgerError as error:
            raise CommandError(str(error)) from error
