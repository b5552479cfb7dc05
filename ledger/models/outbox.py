"""What goes to the contract: operations in one global order, sealed batches, signed transactions.

An item is what the caller asked for. A batch is one call of the contract, immutable once sealed; its id is its place in
the outbox's order. A transaction is signed bytes, stored before anyone else sees them.
"""

from django.db import models

from ledger.models.books import Owner


class Batch(models.Model):
    """One call, sealed: numbers are assigned and `call` never changes again. Only a fee replacement adds bytes."""

    class Status(models.TextChoices):
        SEALED = "sealed", "Sealed"
        SENT = "sent", "Sent"
        FINAL = "final", "Final"
        REVERTED = "reverted", "Reverted"

    kind = models.CharField(max_length=10)
    role = models.CharField(max_length=10)
    first = models.BigIntegerField(null=True, blank=True, help_text="First reward number; rewards only.")
    count = models.PositiveIntegerField(default=1)
    call = models.JSONField(help_text="The call's fields; bytes in hex, amounts in nano.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.SEALED, db_index=True)
    nonce = models.BigIntegerField(null=True, blank=True)
    sealed_at = models.DateTimeField()
    mined_number = models.BigIntegerField(null=True, blank=True, db_index=True)
    mined_hash = models.CharField(max_length=66, blank=True)
    mined_tx = models.CharField(max_length=66, blank=True)
    mined_ok = models.BooleanField(null=True, blank=True)
    revert_reason = models.CharField(max_length=300, blank=True)
    final_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(fields=["role", "nonce"], name="a_nonce_belongs_to_one_batch"),
            models.UniqueConstraint(fields=["first"], name="a_reward_number_opens_one_batch"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} batch {self.pk} ({self.status})"


class ChainTx(models.Model):
    """Signed bytes of a batch. Attempts beyond the first are fee replacements, or follow a nonce lost to a stranger."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="transactions")
    attempt = models.PositiveIntegerField()
    hash = models.CharField(max_length=66, unique=True)
    raw = models.BinaryField()
    nonce = models.BigIntegerField()
    fee = models.JSONField(default=dict)
    signed_at = models.DateTimeField()
    broadcast_at = models.DateTimeField(
        null=True, blank=True, help_text="Last time the bytes were handed to the node."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["batch", "attempt"], name="attempts_are_numbered")]

    def __str__(self) -> str:
        return self.hash


class OutboxItem(models.Model):
    """One operation. `detail` holds what only its kind needs: payouts, offsets, used, first."""

    class Kind(models.TextChoices):
        REWARD = "reward", "Reward"
        UNLOCK = "unlock", "Unlock"
        LOCK = "lock", "Lock"
        SETTLE = "settle", "Settle"
        PAY = "pay", "Pay volunteers"
        RELEASE = "release", "Release"

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        SEALED = "sealed", "Sealed"
        SENT = "sent", "Sent"
        FINAL = "final", "Final"
        REVERTED = "reverted", "Reverted"
        CANCELLED = "cancelled", "Cancelled"
        OFFSET = "offset", "Held back in full for a cancelled reward"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(
        max_length=64, help_text="Hash of the request, to tell a retry from a reused key."
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    user = models.ForeignKey(Owner, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    campaign = models.ForeignKey(Owner, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    job = models.ForeignKey(Owner, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    amount = models.BigIntegerField()
    ref = models.CharField(
        max_length=200, blank=True, help_text="What the caller calls it: a contribution, a job."
    )
    evidence = models.CharField(max_length=64, blank=True)
    policy_version = models.CharField(max_length=60, blank=True)
    detail = models.JSONField(default=dict)
    batch = models.ForeignKey(Batch, null=True, blank=True, on_delete=models.PROTECT, related_name="items")
    number = models.BigIntegerField(null=True, blank=True, unique=True)
    created_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "key"], name="a_key_names_one_operation")]
        indexes = [
            models.Index(fields=["status", "id"], name="outbox_by_status"),
            models.Index(fields=["user", "kind", "id"], name="outbox_by_user"),
            models.Index(fields=["campaign", "status"], name="outbox_by_campaign"),
            models.Index(fields=["job", "kind"], name="outbox_by_job"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} ({self.status})"


class Escrow(models.Model):
    """Credits set aside for a job. `status` follows the chain: it can go back when a block is reorganised away."""

    class Status(models.TextChoices):
        PENDING = "pending", "Waiting for the chain"
        LOCKED = "locked", "Locked"
        SETTLING = "settling", "Settling"
        SETTLED = "settled", "Settled"
        RELEASED = "released", "Released"
        FAILED = "failed", "Failed"

    job = models.OneToOneField(Owner, on_delete=models.PROTECT, related_name="escrow")
    user = models.ForeignKey(Owner, on_delete=models.PROTECT, related_name="escrows")
    maximum = models.BigIntegerField()
    used = models.BigIntegerField(default=0)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)

    def __str__(self) -> str:
        return f"{self.maximum} for {self.job} ({self.status})"


class Offset(models.Model):
    """A reward cancelled after it was sealed: `remaining` nano are held back from the user's next rewards."""

    item = models.OneToOneField(OutboxItem, on_delete=models.PROTECT, related_name="offset")
    amount = models.BigIntegerField(help_text="What the cancelled reward paid.")
    remaining = models.BigIntegerField()
    reason = models.CharField(max_length=300)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(remaining__gte=0, remaining__lte=models.F("amount")),
                name="an_offset_stays_in_range",
            )
        ]

    def __str__(self) -> str:
        return f"{self.remaining} nano to hold back for {self.item_id}"
