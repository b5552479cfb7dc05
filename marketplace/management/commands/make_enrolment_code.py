"""Prints a one-time code with which a volunteer's worker enrols, for an account or for the platform's own machines."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from marketplace.models import User
from marketplace.services.network import issue_enrolment_code

PLATFORM_EMAIL = "volunteers@service.invalid"  # nobody can log in to it


class Command(BaseCommand):
    help = "Prints a one-time enrolment code, good for an hour."

    def add_arguments(self, parser: ArgumentParser) -> None:
        who = parser.add_mutually_exclusive_group(required=True)
        who.add_argument("--email", help="the account that is paid for the work")
        who.add_argument("--platform", action="store_true", help="the platform's own account")

    def handle(self, *args: Any, **options: Any) -> None:
        email = PLATFORM_EMAIL if options["platform"] else options["email"].lower()
        user = User.objects.filter(email=email).first()
        if user is None and options["platform"]:
            user = User.objects.create_user(email, display_name="Platform (volunteers)")
        if user is None:
            raise CommandError(f"There is no account with the address {email}.")
        code, _ = issue_enrolment_code(user)
        self.stdout.write(code)
