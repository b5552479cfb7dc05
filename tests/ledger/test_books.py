"""The database itself refuses wrong books, whoever writes them."""

import uuid

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.utils import DatabaseError
from django.utils import timezone

from ledger import guards, service
from ledger.accounting import Kind, Slot
from ledger.errors import UnbalancedPosting
from ledger.models import Account, Entry, Posting, Seal
from ledger.posting import Reason, owner_of, post
from tests.ledger.world import ADA, CAMPAIGN, HYD, reward

pytestmark = pytest.mark.django_db


def accounts() -> tuple[Account, Account]:
    owner = owner_of(ADA)
    return tuple(Account.objects.create(owner=owner, kind=kind) for kind in (Kind.PENDING, Kind.AVAILABLE))


def entry_with(amounts: dict[int, int]) -> uuid.UUID:
    uid = uuid.uuid4()
    entry = Entry.objects.create(seal_id=uid, at=timezone.now(), move="request")
    for account_id, amount in amounts.items():
        Posting.objects.create(entry=entry, account_id=account_id, amount=amount)
    return uid


def test_balanced_postings_are_sealed_and_move_the_balances():
    service.fund_campaign(CAMPAIGN, HYD, key="f")
    held = dict(Account.objects.values_list("kind", "balance"))
    assert held == {Kind.ISSUANCE: -HYD, Kind.BUDGET: HYD}
    assert Seal.objects.count() == Entry.objects.count() == 1


def test_a_seal_on_unbalanced_postings_is_refused():
    pending, available = accounts()
    with pytest.raises(DatabaseError, match="sum to zero"), transaction.atomic():
        Seal.objects.create(uid=entry_with({pending.pk: 5, available.pk: 4}))


def test_a_seal_on_a_single_posting_is_refused():
    pending, _ = accounts()
    with pytest.raises(DatabaseError, match="two or more"), transaction.atomic():
        Seal.objects.create(uid=entry_with({pending.pk: 5}))


@pytest.mark.django_db(transaction=True)
def test_an_entry_without_a_seal_cannot_be_committed():
    with pytest.raises(IntegrityError), transaction.atomic():
        entry_with({})
    assert not Entry.objects.exists()


def test_nothing_is_added_to_a_sealed_entry():
    service.fund_campaign(CAMPAIGN, HYD, key="f")
    pending, _ = accounts()
    with pytest.raises(DatabaseError, match="sealed"), transaction.atomic():
        Posting.objects.create(entry=Entry.objects.get(), account=pending, amount=1)


@pytest.mark.parametrize("model, change", [(Posting, {"amount": 7}), (Entry, {"move": "cancel"})])
def test_the_books_are_append_only(model, change):
    service.fund_campaign(CAMPAIGN, HYD, key="f")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        model.objects.update(**change)


@pytest.mark.parametrize("kind, amount", [(Kind.PENDING, -1), (Kind.ISSUANCE, 1), (Kind.SHORT_CREDITS, 1)])
def test_a_balance_of_the_wrong_sign_is_refused(kind, amount):
    account = Account.objects.create(owner=owner_of(ADA), kind=kind)
    with pytest.raises(IntegrityError), transaction.atomic():
        entry_with({account.pk: amount})


def test_unbalanced_moves_do_not_reach_the_database():
    with pytest.raises(UnbalancedPosting):
        post({Slot(Kind.BUDGET, CAMPAIGN): 1}, Reason(Entry.Move.FUND, timezone.now()))
    assert not Entry.objects.exists()


def test_missing_guards_are_noticed():
    assert guards.find_missing(connection) == []
    with connection.cursor() as cursor:
        on = " ON ledger_seal" if connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER ledger_seal_balances{on}")
    assert guards.find_missing(connection) == ["ledger_seal_balances"]


def test_ids_on_chain_are_opaque_and_differ_by_salt(settings):
    reward_owner = owner_of(ADA)
    assert len(bytes.fromhex(reward_owner.chain_id)) == 32
    settings.HYDRA_LEDGER_SALT = "another"
    assert owner_of("user:new").chain_id != reward_owner.chain_id
    assert "ada" not in reward_owner.chain_id


def test_a_request_costs_few_queries(django_assert_max_num_queries):
    service.fund_campaign(CAMPAIGN, HYD, key="f")
    reward("first", amount=1)
    with django_assert_max_num_queries(20):
        reward("second", amount=1)
