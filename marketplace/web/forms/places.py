"""A service's place and words ("columns.1.name", "'age' is there twice") as the person who typed them counts."""

import re
from collections.abc import Callable

from django.utils.translation import gettext as _

_LINES = {"classes", "columns"}  # fields with one entry per line
_SUM = re.compile(r"the shares sum to ([\d.e+-]+), (not to|more than) 1")


def in_words(place: str, text: str) -> str:
    """ "columns.1.name", "'age' is there twice" → "Line 2: 'age' is there twice". Places without parts keep the text."""
    name, *parts = place.split(".")
    where = [said for said in (_spoken(name, at, parts) for at in range(len(parts))) if said]
    return f"{', '.join(where)}: {_plain(parts, text)}" if where else _plain(parts, text)


def _spoken(name: str, at: int, parts: list[str]) -> str:
    """What one part of the place is called; "" for a part that the words name already."""
    if not parts[at].isdecimal():
        return ""
    number = int(parts[at]) + 1
    if at == 0 and name == "attributes":
        return _("Group %(n)s") % {"n": number}
    if (at == 0 and name in _LINES) or name == "attributes":
        return (_("line %(n)s") if at else _("Line %(n)s")) % {"n": number}
    return _("value %(n)s") % {"n": number}


def _plain(parts: list[str], text: str) -> str:
    if found := _SUM.fullmatch(text):
        total = f"{100 * float(found[1]):g}"
        words = (
            _("the shares sum to %(n)s %%, not 100 %%")
            if found[2] == "not to"
            else _("the shares sum to %(n)s %%, more than 100 %%")
        )
        return words % {"n": total}
    last = parts[-1] if parts else ""
    spoken = _PARTS.get((last, text))
    if spoken is not None:
        return spoken()
    if last == "name" and text.endswith(" characters"):
        return _("a name has %(length)s") % {"length": text}
    return text


_PARTS: dict[tuple[str, str], Callable[[], str]] = {
    ("low", "not above high"): lambda: _("the lower limit is above the upper one"),
    ("low", "a finite number"): lambda: _("the lower limit is a finite number"),
    ("high", "a finite number"): lambda: _("the upper limit is a finite number"),
}
