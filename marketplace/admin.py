"""The operators' admin: looks at everything, changes little. Money, evidence and verdicts are never edited here.

Roles are granted by putting a person into the groups Moderators or Sponsors.
"""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from marketplace import models


class ReadOnly(ModelAdmin):
    """Rows that only services may write: shown, searched, never added, changed or deleted by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


_unfold_context = admin.site.each_context


def _named_context(request: HttpRequest) -> dict[str, Any]:
    """Unfold takes the site's names from settings alone, and these name none."""
    context = _unfold_context(request)
    named = {"site_header": "Hydra", "site_title": "Hydra"}
    return context | {name: context.get(name) or word for name, word in named.items()}


admin.site.each_context = _named_context  # type: ignore[method-assign]
admin.site.unregister(Group)


@admin.register(Group)
class RoleAdmin(GroupAdmin, ModelAdmin):
    pass


@admin.register(models.User)
class MemberAdmin(UserAdmin, ModelAdmin):
    """Roles are given with `groups`; an account that did wrong is made inactive, never deleted."""

    form, add_form, change_password_form = UserChangeForm, UserCreationForm, AdminPasswordChangeForm
    ordering = ["email"]
    list_display = ["email", "display_name", "is_active", "is_staff", "date_joined"]
    list_filter = ["is_active", "is_staff", "groups"]
    search_fields = ["email", "display_name", "public_id"]
    readonly_fields = ["public_id", "last_login", "date_joined"]
    fieldsets = [
        (None, {"fields": ["email", "password", "display_name", "public_id"]}),
        ("Roles", {"fields": ["groups", "is_active", "is_staff", "is_superuser"]}),
        ("Dates", {"fields": ["last_login", "date_joined"]}),
    ]
    add_fieldsets = [(None, {"classes": ["wide"], "fields": ["email", "password1", "password2"]})]
    filter_horizontal = ["groups"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(models.ApiToken)
class ApiTokenAdmin(ReadOnly):
    list_display = ["name", "user", "scopes", "created_at", "expires_at", "revoked_at", "last_used_at"]
    list_select_related = ["user"]
    search_fields = ["name", "user__email"]
    exclude = ["digest"]


@admin.register(models.Campaign)
class CampaignAdmin(ReadOnly):
    list_display = ["title", "owner", "modality", "state", "created_at"]
    list_filter = ["state", "modality"]
    list_select_related = ["owner"]
    search_fields = ["title", "slug", "owner__email"]


@admin.register(models.Submission)
class SubmissionAdmin(ReadOnly):
    list_display = ["public_id", "campaign", "contributor", "state", "stage", "created_at", "judged_at"]
    list_filter = ["state"]
    list_select_related = ["campaign", "contributor"]
    search_fields = ["public_id", "campaign__title", "contributor__email"]


@admin.register(models.Item)
class ItemAdmin(ReadOnly):
    list_display = ["name", "campaign", "label", "state", "needs_review", "reward_status", "created_at"]
    list_filter = ["state", "needs_review"]
    list_select_related = ["campaign"]
    search_fields = ["public_id", "name", "original_sha256", "content_sha256"]
    exclude = ["features"]
    show_full_result_count = False


@admin.register(models.Verdict)
class VerdictAdmin(ReadOnly):
    list_display = ["item", "sequence", "outcome", "moderator", "reason", "created_at"]
    list_filter = ["outcome"]
    list_select_related = ["item", "moderator"]
    search_fields = ["item__public_id", "moderator__email"]
    show_full_result_count = False


@admin.register(models.Evidence)
class EvidenceAdmin(ReadOnly):
    list_display = ["validator", "version", "outcome", "score", "item", "created_at"]
    list_filter = ["validator", "outcome"]
    list_select_related = ["item"]
    search_fields = ["item__public_id", "digest"]
    show_full_result_count = False


@admin.register(models.Release)
class ReleaseAdmin(ReadOnly):
    list_display = ["campaign", "version", "state", "train_items", "test_items", "created_at", "failure"]
    list_filter = ["state"]
    list_select_related = ["campaign"]


@admin.register(models.Job)
class JobAdmin(ReadOnly):
    list_display = ["public_id", "owner", "recipe", "state", "step", "samples", "charged", "created_at"]
    list_filter = ["state", "recipe"]
    list_select_related = ["owner"]
    search_fields = ["public_id", "owner__email"]


@admin.register(models.JobRound)
class JobRoundAdmin(ReadOnly):
    list_display = ["job", "step", "term", "samples", "loss", "recorded_at"]
    list_select_related = ["job__release__campaign"]
    show_full_result_count = False


@admin.register(models.JobEarning)
class JobEarningAdmin(ReadOnly):
    list_display = ["job", "peer", "samples", "amount"]
    list_select_related = ["job__release__campaign", "peer"]


@admin.register(models.Peer)
class PeerAdmin(ReadOnly):
    list_display = ["name", "user", "state", "active", "samples_total", "last_seen_at"]
    list_filter = ["active", "state"]
    list_select_related = ["user"]
    search_fields = ["name", "peer_id", "user__email"]


@admin.register(models.Backbone)
class BackboneAdmin(ReadOnly):
    list_display = ["peer_id", "host", "port", "announced_at"]


@admin.register(models.Progress)
class ProgressAdmin(ReadOnly):
    list_display = ["name", "cursor"]
