"""Balances, the statement behind them, unlocking, and the ledger's totals."""

from typing import Any

from rest_framework import serializers

from marketplace.api.serializers.fields import AmountNano, Money

LINE_KINDS = ["reward", "unlock", "lock", "settle", "pay", "release"]


class Balance(serializers.Serializer[Any]):
    pending = Money(help_text="Rewards decided, not yet confirmed on the ledger.")
    available = Money(help_text="Confirmed tokens, free to unlock.")
    unlocking = Money(help_text="On the way from tokens to credits.")
    credits = Money(help_text="Free to spend on jobs.")
    locked = Money(help_text="Held for jobs that are not over.")
    spent = Money(help_text="Used by jobs.")
    earned_total = Money(help_text="All rewards and training payments ever.")
    on_chain = Money(help_text="Rewards confirmed on the contract.")


class StatementLine(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    kind = serializers.CharField()
    account = serializers.CharField(help_text="Which balance it changed.")
    amount = Money(help_text="Positive in, negative out.")
    status = serializers.CharField()
    label_ref = serializers.CharField(
        allow_null=True, help_text='What it is about, such as "item:<id>" or "job:<id>".'
    )
    tx_hash = serializers.CharField(allow_null=True, help_text="The transaction that recorded it.")


class StatementPage(serializers.Serializer[Any]):
    results = StatementLine(many=True)
    next = serializers.URLField(allow_null=True, help_text="The next page.")


class StatementQuery(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=LINE_KINDS, required=False, help_text="Only lines of this kind.")
    limit = serializers.IntegerField(min_value=1, max_value=200, required=False, default=50)
    before = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, required=False, help_text="Only lines older than this id."
    )


class UnlockIn(serializers.Serializer[Any]):
    amount_nano = AmountNano(help_text="How many available tokens to turn into credits, one to one.")


class UnlockOut(serializers.Serializer[Any]):
    status = serializers.CharField(help_text="`pending` until the ledger confirms it.")
    amount = Money()
    balance = Balance()


class RewardProof(serializers.Serializer[Any]):
    """A reward's leaf and its way to the evidence root of its batch on the chain; hashes in hex."""

    number = serializers.IntegerField(help_text="Of the reward on the contract.")
    contribution = serializers.CharField()
    evidence = serializers.CharField()
    policy_version = serializers.CharField()
    siblings = serializers.ListField(child=serializers.CharField())
    root = serializers.CharField()  # type: ignore[assignment]
    tx_hash = serializers.CharField(allow_null=True)


class LedgerTotals(serializers.Serializer[Any]):
    """The books' totals beside the contract's own, in nano, as last read."""

    books = serializers.DictField(child=serializers.IntegerField())
    chain = serializers.DictField(child=serializers.IntegerField())
    block = serializers.IntegerField(help_text="The block that the contract's totals are of.")
