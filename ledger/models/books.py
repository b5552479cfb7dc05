"""Double entry: owners, their accounts, entries and postings. Only ledger.posting writes here.

The database itself refuses what is wrong (migration 0002): an entry cannot be committed without its seal, a seal only
stands on postings that sum to zero, nothing is changed afterwards, and a balance follows its postings by trigger and
keeps the sign of its kind by constraint.
"""

import uuid

from django.db import models

from ledger.accounting import NEGATIVE_KINDS, Kind

KIND_CHOICES = [(kind.value, kind.value.replace("_", " ")) for kind in Kind]


class Owner(models.Model):
    """Someone or something the books know: a reference that only the caller understands, and an opaque id on chain."""

    ref = models.CharField(max_length=100, unique=True)
    chain_id = models.CharField(
        max_length=64, unique=True, help_text="32 bytes in hex: salted hash of the reference."
    )

    def __str__(self) -> str:
        return self.ref


class Account(models.Model):
    """One kind of holding of one owner. `balance` in nano, kept by the database as the sum of the postings."""

    owner = models.ForeignKey(Owner, on_delete=models.PROTECT, related_name="accounts")
    kind = models.CharField(max_length=20, choices=KIND_CHOICES)
    balance = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "kind"], name="one_account_per_owner_and_kind"),
            models.CheckConstraint(
                condition=models.Q(kind__in=sorted(NEGATIVE_KINDS), balance__lte=0)
                | (~models.Q(kind__in=sorted(NEGATIVE_KINDS)) & models.Q(balance__gte=0)),
                name="balance_has_the_sign_of_its_kind",
            ),
        ]
        indexes = [models.Index(fields=["kind"], name="account_by_kind")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.owner_id}: {self.balance}"


class Seal(models.Model):
    """Says that an entry's postings are complete and sum to zero; the database accepts no other."""

    uid = models.UUIDField(primary_key=True, default=uuid.uuid4)

    def __str__(self) -> str:
        return str(self.uid)


class Entry(models.Model):
    """One event in the books: append-only. `move` says which way an operation went."""

    class Move(models.TextChoices):
        FUND = "fund", "Funded"
        REQUEST = "request", "Requested"
        SETTLE = "settle", "Settled"
        REFUSE = "refuse", "Refused by the contract"
        CANCEL = "cancel", "Cancelled"
        UNSETTLE = "unsettle", "Settlement reorganised away"
        UNREFUSE = "unrefuse", "Refusal reorganised away"
        DEPOSIT = "deposit", "Deposited by a wallet"
        WITHDRAW = "withdraw", "Withdrawn to a wallet"

    seal = models.OneToOneField(Seal, on_delete=models.PROTECT, related_name="entry")
    at = models.DateTimeField(db_index=True)
    move = models.CharField(max_length=10, choices=Move.choices)
    item = models.ForeignKey(
        "ledger.OutboxItem", null=True, blank=True, on_delete=models.PROTECT, related_name="entries"
    )
    key = models.CharField(
        max_length=200, null=True, blank=True, unique=True, help_text="For entries without an item."
    )

    class Meta:
        verbose_name_plural = "entries"

    def __str__(self) -> str:
        return f"{self.pk} {self.move}"


class Posting(models.Model):
    """A signed amount of nano on one account."""

    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="postings")
    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="postings")
    amount = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["entry", "account"], name="an_account_once_per_entry"),
            models.CheckConstraint(condition=~models.Q(amount=0), name="a_posting_moves_something"),
        ]

    def __str__(self) -> str:
        return f"{self.amount:+d} on {self.account_id}"
