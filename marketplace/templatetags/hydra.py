"""How values look on pages: money, shares, states, bars, icons. Nothing here decides anything."""

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.forms import BoundField, CheckboxInput, CheckboxSelectMultiple, RadioSelect, Select
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from marketplace.models import Item
from marketplace.rules.admission import BUDGET_EXHAUSTED
from marketplace.rules.money import format_hyd
from marketplace.templatetags.states import ACCOUNTS, State, state_of

register = template.Library()


@register.filter
def hyd(nano: int | None) -> str:
    """1_234_500_000_000 → "1,234.5": exact, thousands grouped, no trailing zeros."""
    if nano is None:
        return "–"
    whole, dot, rest = format_hyd(int(nano)).partition(".")
    sign = "−" if whole.startswith("-") else ""
    return f"{sign}{int(whole.lstrip('-')):,}{dot}{rest}"


@register.filter
def percent(share: float | str | None, digits: int = 0) -> str:
    return "–" if share in (None, "") else f"{100 * float(share or 0):.{int(digits)}f} %"


@register.filter
def figure(value: float | str | None, digits: int = 2) -> str:
    return "–" if value in (None, "") else f"{float(value or 0):.{int(digits)}f}"


@register.filter
def short_id(value: Any) -> str:
    """The first block of an id or hash, enough to tell two apart on a page."""
    return str(value)[:10] if str(value).startswith("0x") else str(value)[:8]


@register.filter
def scalars(data: Any) -> list[tuple[str, str]]:
    """The numbers and words of a validator's data, without its lists and nested parts."""
    if not isinstance(data, dict):
        return []
    shown = (
        (name, value) for name, value in data.items() if isinstance(value, int | float | str) and value != ""
    )
    return [(name, f"{value:.4g}" if isinstance(value, float) else str(value)) for name, value in shown]


@register.filter
def ref_page(ref: str) -> str:
    """The page of what a ledger's reference names ("item:<uuid>", "job:<uuid>"), or ""."""
    kind, _colon, public_id = str(ref).partition(":")
    page = {"item": "web:submission-item", "job": "web:job"}.get(kind)
    try:
        return reverse(page, args=[public_id]) if page else ""
    except NoReverseMatch:
        return ""


@register.filter
def words(value: str) -> str:
    """`near_duplicate` → "near duplicate"."""
    return str(value).replace("_", " ").replace("-", " ")


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html('<i class="bi bi-{}" aria-hidden="true"></i>', name)


@register.simple_tag
def badge(kind: str, value: str) -> SafeString:
    """A state as icon and words: colour is never the only sign."""
    state: State = state_of(kind, value)
    return format_html(
        '<span class="badge-state tone-{}"><i class="bi bi-{}" aria-hidden="true"></i>{}</span>',
        state.tone, state.icon, state.label,
    )  # fmt: skip


@register.simple_tag
def item_badge(item: Item) -> SafeString:
    """An item's state; a pending one says whom it waits for: the checks, a person, or the sponsor's budget."""
    if item.state != Item.State.PENDING or not item.needs_review:
        return badge("item", item.state)
    return badge("item", "budget" if item.reason == BUDGET_EXHAUSTED else "review")


@register.filter
def ago(moment: datetime) -> str:
    """ "just now" within the last minute, else "5 minutes ago"."""
    if timezone.now() - moment < timedelta(minutes=1):
        return _("just now")
    return _("%(span)s ago") % {"span": timesince(moment)}


@register.filter
def account_words(kind: str) -> str:
    """The ledger's account as a person calls it."""
    return str(ACCOUNTS.get(kind) or words(kind))


@register.inclusion_tag("components/_field.html")
def field(bound: BoundField) -> dict[str, Any]:
    """A form field with its label, help and errors in words; Django ties them together by aria-describedby."""
    widget = bound.field.widget
    many = isinstance(widget, RadioSelect | CheckboxSelectMultiple)
    single_box = isinstance(widget, CheckboxInput)
    style = "form-select" if isinstance(widget, Select) and not many else "form-control"
    classes = "form-check-input" if many or single_box else f"{style} {widget.attrs.get('class', '')}".strip()
    if bound.errors:
        classes += " is-invalid"
    return {"field": bound, "many": many, "single_box": single_box, "widget": bound.as_widget(attrs={"class": classes}),
            "choices": _choices_with_class(bound, classes) if many else ()}  # fmt: skip


def _choices_with_class(bound: BoundField, classes: str) -> list[Any]:
    for choice in (choices := list(bound)):
        choice.data["attrs"]["class"] = classes
    return choices


@register.simple_tag
def tone(kind: str, value: str) -> str:
    return f"tone-{state_of(kind, value).tone}"


@register.simple_tag
def bar(value: float | None, whole: float = 1, label: str = "", target: float | None = None) -> SafeString:
    """A horizontal bar as SVG, since the content policy forbids inline styles. `target` draws a mark."""
    filled = _share(value, whole)
    mark = SafeString("")
    if target is not None:
        at = f"{_share(target, whole):.2f}%"
        mark = format_html('<line x1="{}" x2="{}" y1="0" y2="100%"/>', at, at)
    name = label or _("%(share)s of the whole") % {"share": f"{filled:.0f} %"}
    return format_html(
        '<svg class="bar" role="img" aria-label="{}"><rect width="{}%" height="100%"/>{}</svg>',
        name, f"{filled:.2f}", mark,
    )  # fmt: skip


def _share(value: float | None, whole: float) -> float:
    """Percent of `whole`, kept within 0 and 100."""
    if value is None or not whole:
        return 0.0
    return max(0.0, min(100.0, 100 * float(value) / float(whole)))
