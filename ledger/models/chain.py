"""What was read back from the chain, where the readers stand, and the news for other packages."""

from django.db import models


class ChainEventRow(models.Model):
    """One log of the contract. A reorganised row stays, not canonical, and comes back if its block does."""

    chain = models.CharField(max_length=80)
    block_number = models.BigIntegerField()
    block_hash = models.CharField(max_length=66)
    tx_hash = models.CharField(max_length=66, db_index=True)
    log_index = models.PositiveIntegerField()
    name = models.CharField(max_length=40)
    args = models.JSONField()
    canonical = models.BooleanField(default=True)
    posted = models.BooleanField(
        default=False, help_text="Moved the books by itself: deposits and withdrawals."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chain", "block_hash", "tx_hash", "log_index"], name="a_log_once_per_block"
            )
        ]
        indexes = [models.Index(fields=["chain", "canonical", "block_number"], name="events_by_block")]

    def __str__(self) -> str:
        return f"{self.name} in block {self.block_number}"


class IndexedBlock(models.Model):
    """A block hash seen while indexing: what a reorganisation is measured against."""

    chain = models.CharField(max_length=80)
    number = models.BigIntegerField()
    hash = models.CharField(max_length=66)
    matters = models.BooleanField(
        default=False, help_text="Holds something of ours; others are forgotten when final."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chain", "number"], name="one_hash_per_block")]

    def __str__(self) -> str:
        return f"{self.number} {self.hash}"


class Cursor(models.Model):
    """The last block read of a chain; moved by compare-and-set on (number, hash)."""

    chain = models.CharField(max_length=80, unique=True)
    number = models.BigIntegerField()
    hash = models.CharField(max_length=66, blank=True)
    head = models.BigIntegerField(default=-1)
    final = models.BigIntegerField(default=-1)
    head_at = models.DateTimeField(null=True, blank=True, help_text="When the node last answered.")

    def __str__(self) -> str:
        return f"{self.chain} at {self.number}"


class SenderLease(models.Model):
    """Who may seal and sign now; taken and renewed by compare-and-set."""

    name = models.CharField(max_length=40, unique=True)
    holder = models.CharField(max_length=80, blank=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.holder}"


class Settlement(models.Model):
    """News about an operation, in order. The same operation can appear again: un-confirmed, then settled."""

    class Status(models.TextChoices):
        SETTLED = "settled", "Settled"
        REVERTED = "reverted", "Reverted"
        UNCONFIRMED = "unconfirmed", "Un-confirmed"
        CANCELLED = "cancelled", "Cancelled"

    kind = models.CharField(max_length=10)
    key = models.CharField(max_length=200)
    ref = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=12, choices=Status.choices)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.kind} {self.key}: {self.status}"


class Alarm(models.Model):
    """Something that only a person can judge; one open row per subject."""

    code = models.CharField(max_length=40)
    subject = models.CharField(max_length=120)
    detail = models.CharField(max_length=500)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["code", "subject"], condition=models.Q(closed_at__isnull=True), name="one_open_alarm"
            )
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.subject}: {self.detail}"
