"""Balances, their statement, unlocking tokens into credits, and the ledger's totals for everyone."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from ledger import service as ledger
from ledger.errors import UnknownReward
from marketplace.api import visibility
from marketplace.api.auth import caller_of
from marketplace.api.idempotency import answer_once
from marketplace.api.pagination import other_ways
from marketplace.api.serializers import rewards as shapes
from marketplace.api.views.base import View
from marketplace.errors import NotFound
from marketplace.selectors.lookup import get_one
from marketplace.services import rewards


class BalanceView(View):
    @extend_schema(summary="Show the caller's balances", responses=shapes.Balance, tags=["rewards"])
    def get(self, request: Request) -> Response:
        return Response(shapes.Balance(ledger.balances(caller_of(request).ledger_ref)).data)


class Statement(View):
    @extend_schema(
        summary="List what changed the caller's balances",
        description="Newest first; every amount with the item or job it is for and the transaction that recorded it.",
        parameters=[shapes.StatementQuery],
        responses=shapes.StatementPage,
        tags=["rewards"],
    )
    def get(self, request: Request) -> Response:
        if faults := other_ways(request.query_params, "before"):
            raise ValidationError(faults)
        query = self.read_query(shapes.StatementQuery)
        limit = query["limit"]
        lines = ledger.statement(
            caller_of(request).ledger_ref, kind=query.get("kind"), limit=limit + 1, before=query.get("before")
        )
        following = None
        if len(lines) > limit:
            address = request.build_absolute_uri()
            following = replace_query_param(address, "before", lines[limit - 1].id)
        shown = shapes.StatementLine(lines[:limit], many=True).data
        return Response({"results": shown, "next": following})


class Unlock(View):
    keyed = True

    @extend_schema(
        summary="Turn tokens into credits",
        description="Takes `amount_nano` from available at once; credits follow when the ledger has confirmed it. "
        "409 `insufficient_funds` where less is available.",
        request=shapes.UnlockIn,
        responses={201: shapes.UnlockOut},
        tags=["rewards"],
    )
    def post(self, request: Request) -> Response:
        amount = self.read(shapes.UnlockIn)["amount_nano"]

        def act(key: str) -> Response:
            unlocked = rewards.unlock(caller_of(request), amount, key=key)
            balance = ledger.balances(caller_of(request).ledger_ref)
            answer: dict[str, Any] = {
                "status": unlocked.status,
                "amount": unlocked.amount,
                "balance": balance,
            }
            return Response(shapes.UnlockOut(answer).data, status=201)

        return answer_once(request, act)


class Proof(View):
    @extend_schema(
        summary="Show the proof of an item's reward",
        description="What a stranger needs to check the reward against the chain, with `config/verify_reward.py`. "
        "404 until the reward has its number.",
        responses=shapes.RewardProof,
        tags=["rewards"],
    )
    def get(self, request: Request, public_id: str) -> Response:
        item = get_one(visibility.items(request), public_id)
        try:
            proof = ledger.reward_proof(item.reward_key)
        except UnknownReward:
            raise NotFound("The item has no reward on the ledger yet.") from None
        return Response(shapes.RewardProof(proof).data)


class Totals(View):
    public = True

    @extend_schema(
        summary="Show the ledger's totals",
        description="The books' sums and the contract's own at the block given, all in nano. No account is named.",
        responses=shapes.LedgerTotals,
        tags=["rewards"],
    )
    def get(self, request: Request) -> Response:
        return Response(asdict(ledger.totals()))
