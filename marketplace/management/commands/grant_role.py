"""Puts an account into a role's group from the shell; the admin does the same with a mouse."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError

from marketplace.models import MODERATORS, SPONSORS, User


class Command(BaseCommand):
    help = "Grants a role to an account."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        parser.add_argument("role", choices=[MODERATORS, SPONSORS])

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(email=options["email"].lower()).first()
        if user is None:
            raise CommandError(f"There is no account with the address {options['email']}.")
        user.groups.add(Group.objects.get(name=options["role"]))
        self.stdout.write(f"{user.email} is in {options['role']}.")
