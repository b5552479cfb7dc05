"""Money a person has earned: where it stands, every row behind it, and the step from tokens to credits."""

import csv
from collections.abc import Iterator
from typing import Any

from defusedcsv import csv as safe_csv
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from marketplace.errors import MarketError
from marketplace.rules.money import format_hyd
from marketplace.selectors import dashboard
from marketplace.selectors import rewards as money
from marketplace.services import rewards as service
from marketplace.web.doors import key_of, member_page, new_key, show_on_form
from marketplace.web.figures import earnings_by_day
from marketplace.web.forms.money import UnlockForm
from marketplace.web.wallet import cells_of, money_figures

STATEMENT_ROWS = 200
CSV_COLUMNS = ("id", "at", "kind", "amount_hyd", "status", "account", "label_ref", "tx_hash")


@require_GET
@member_page
def overview(request: HttpRequest) -> HttpResponse:
    return _overview(request, UnlockForm())


def _overview(request: HttpRequest, form: UnlockForm) -> HttpResponse:
    user: Any = request.user
    days = earnings_by_day(user)
    balances = money.balances(user)
    context = {
        "balances": balances,
        "money": money_figures(balances),
        "figures": dashboard.figures(user),
        "days": days,
        "chart": {"labels": [f"{one.day:%d %b}" for one in days], "values": [one.hyd for one in days]},
        "form": form,
        "key": new_key(),
    }
    return render(request, "marketplace/rewards/overview.html", context, status=422 if form.errors else 200)


@member_page
def unlock(request: HttpRequest) -> HttpResponseBase:
    """Tokens become credits once the chain has confirmed it."""
    if request.method != "POST":
        return redirect("web:rewards")
    user: Any = request.user
    form = UnlockForm(request.POST)
    if not form.is_valid():
        return _overview(request, form)
    try:
        service.unlock(user, form.cleaned_data["amount"], key=key_of(request))
    except MarketError as error:
        show_on_form(form, error)
        return _overview(request, form)
    amount = format_hyd(form.cleaned_data["amount"])
    messages.success(
        request,
        _("%(amount)s HYD are being unlocked. They become credits once the chain has confirmed it.")
        % {"amount": amount},
    )
    return redirect("web:rewards")


@require_GET
@member_page
def rows(request: HttpRequest, key: str) -> HttpResponse:
    """The rows behind one figure of the dashboard."""
    user: Any = request.user
    found = dashboard.rows(user, key)
    context = {
        "found": found,
        "table": [zip(found.columns, cells_of(key, found.columns, row), strict=True) for row in found.rows],
    }
    return render(request, "marketplace/rewards/rows.html", context)


@require_GET
@member_page
def statement(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    kind = request.GET.get("kind") or None
    lines = money.statement(user, kind=kind, limit=STATEMENT_ROWS, before=_before(request))
    older = lines[-1].id if len(lines) == STATEMENT_ROWS else None
    return render(
        request, "marketplace/rewards/statement.html", {"lines": lines, "kind": kind, "older": older}
    )


@require_GET
@member_page
def statement_csv(request: HttpRequest) -> HttpResponseBase:
    """Every line, newest first; cells that a spreadsheet would run are made harmless."""
    response = StreamingHttpResponse(_csv_lines(request.user), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="hydra-statement.csv"'
    return response


class _Echo:
    """A file that hands back what is written, so that rows stream."""

    def write(self, text: str) -> str:
        return text


def _csv_lines(user: Any) -> Iterator[str]:
    writer = safe_csv.writer(_Echo(), quoting=csv.QUOTE_MINIMAL)
    yield writer.writerow(CSV_COLUMNS)
    before = None
    while lines := money.statement(user, limit=STATEMENT_ROWS, before=before):
        for line in lines:
            yield writer.writerow(
                [line.id, line.at.isoformat(), line.kind, format_hyd(line.amount), line.status, line.account,
                 line.label_ref, line.tx_hash]
            )  # fmt: skip
        before = lines[-1].id


def _before(request: HttpRequest) -> int | None:
    text = request.GET.get("before", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
