"""The operators' admin: every list opens, roles are granted by group, nothing that services write can be edited."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.urls import reverse

from marketplace.models import User
from tests.marketplace.world import accepted_items, review_item

SHOWN = [model for model in admin.site._registry if model._meta.app_label in {"marketplace", "auth"}]


@pytest.fixture
def operator(client, db):
    client.force_login(User.objects.create_superuser("root@example.org", "correct-horse-9"))
    return client


@pytest.mark.parametrize("model", SHOWN, ids=lambda model: model.__name__)
def test_every_list_opens(operator, model, notes, ben, cleo):
    accepted_items(notes, ben, 2)
    review_item(notes, ben)
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    assert operator.get(address).status_code == 200


def test_every_table_that_people_may_ask_about_is_there():
    hidden = {"EnrolmentCode", "IdempotentRequest", "ReleaseItem", "JobMetric"}
    names = {model.__name__ for model in apps.get_app_config("marketplace").get_models()}
    assert names - hidden <= {model.__name__ for model in SHOWN}


def test_what_services_write_cannot_be_edited(operator, notes, ben):
    (item,) = accepted_items(notes, ben, 1)
    address = reverse("admin:marketplace_item_change", args=[item.pk])
    assert operator.get(address).status_code == 200
    assert operator.post(address, {"state": "rejected"}).status_code == 403
    assert operator.post(reverse("admin:marketplace_item_delete", args=[item.pk])).status_code == 403
    assert operator.get(reverse("admin:marketplace_item_add")).status_code == 403


def test_a_role_is_granted_by_group(operator, ben):
    assert not ben.is_moderator
    fields = {
        "email": ben.email, "display_name": "ben", "is_active": "on",
        "groups": [Group.objects.get(name="Moderators").pk],
    }  # fmt: skip
    answer = operator.post(reverse("admin:marketplace_user_change", args=[ben.pk]), fields)
    assert answer.status_code == 302, answer.context["errors"]
    assert User.objects.get(pk=ben.pk).is_moderator and not User.objects.get(pk=ben.pk).is_sponsor


def test_the_admin_is_not_for_members(client, cleo):
    client.force_login(cleo)
    assert client.get(reverse("admin:index")).status_code == 302


def test_the_site_is_called_by_its_name(operator):
    page = operator.get("/admin/").content.decode()
    assert "| Hydra</title>" in " ".join(page.split())
    assert "Django site admin" not in page
    assert "Django administration" not in page
