"""The marketplace application: also makes the two roles exist wherever its tables do."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate

ROLES = {"Moderators": "moderate", "Sponsors": "sponsor"}


class MarketplaceConfig(AppConfig):
    name = "marketplace"
    label = "marketplace"
    verbose_name = "Marketplace"

    def ready(self) -> None:
        post_migrate.connect(create_roles, sender=self, dispatch_uid="marketplace.create_roles")


def create_roles(using: str = "default", **kwargs: Any) -> None:
    """Groups that an operator puts people into. After migrations rather than in one, because that is when the
    permissions exist, and because emptying the tables (in tests) runs it again. Adds only what is missing."""
    from django.contrib.auth.models import Group, Permission

    for name, codename in ROLES.items():
        permission = Permission.objects.using(using).filter(
            content_type__app_label="marketplace", codename=codename
        ).first()  # fmt: skip
        if permission is not None:
            group, _ = Group.objects.using(using).get_or_create(name=name)
            group.permissions.add(permission)
