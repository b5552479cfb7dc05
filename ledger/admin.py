"""The ledger for operators: everything can be looked at, nothing can be changed."""

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline

from ledger import models


class ReadOnly:
    """The books change by postings and the outbox by its programs, never by a form."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class PostingInline(ReadOnly, TabularInline):
    model = models.Posting
    extra = 0


class ChainTxInline(ReadOnly, TabularInline):
    model = models.ChainTx
    extra = 0
    fields = ("attempt", "nonce", "hash", "signed_at", "broadcast_at")


@admin.register(models.Account)
class AccountAdmin(ReadOnly, ModelAdmin):
    list_display = ("owner", "kind", "balance")
    list_filter = ("kind",)
    search_fields = ("owner__ref",)
    list_select_related = ("owner",)


@admin.register(models.Entry)
class EntryAdmin(ReadOnly, ModelAdmin):
    list_display = ("id", "at", "move", "item")
    list_filter = ("move",)
    list_select_related = ("item",)
    inlines = (PostingInline,)


@admin.register(models.OutboxItem)
class OutboxItemAdmin(ReadOnly, ModelAdmin):
    list_display = ("id", "kind", "key", "status", "amount", "number", "batch", "created_at")
    list_filter = ("kind", "status")
    search_fields = ("key", "ref", "user__ref")
    list_select_related = ("batch",)


@admin.register(models.Batch)
class BatchAdmin(ReadOnly, ModelAdmin):
    list_display = (
        "id",
        "kind",
        "status",
        "first",
        "count",
        "role",
        "nonce",
        "mined_number",
        "revert_reason",
    )
    list_filter = ("kind", "status")
    inlines = (ChainTxInline,)


@admin.register(models.Escrow)
class EscrowAdmin(ReadOnly, ModelAdmin):
    list_display = ("job", "user", "status", "maximum", "used")
    list_filter = ("status",)
    list_select_related = ("job", "user")


@admin.register(models.ChainEventRow)
class ChainEventAdmin(ReadOnly, ModelAdmin):
    list_display = ("block_number", "name", "tx_hash", "log_index", "canonical")
    list_filter = ("name", "canonical")
    search_fields = ("tx_hash",)


@admin.register(models.Cursor)
class CursorAdmin(ReadOnly, ModelAdmin):
    list_display = ("chain", "number", "head", "final", "head_at")


@admin.register(models.Alarm)
class AlarmAdmin(ReadOnly, ModelAdmin):
    list_display = ("code", "subject", "detail", "opened_at", "closed_at")
    list_filter = ("code",)
