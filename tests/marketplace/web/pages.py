"""Every page that a GET opens, with what each of the cast may see; and a reader of HTML for what all pages share."""

from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser

from django.urls import reverse

LOGIN = 302  # sent to the login page


@dataclass(frozen=True)
class Page:
    """`seen_by` maps ada, ben, cleo, eve and "" (nobody logged in) to the status; others get `otherwise`."""

    name: str
    part: str = ""
    statuses: dict[str, int] = field(default_factory=dict)
    otherwise: int = 200

    def address(self, world) -> str:
        first = world.submission.items.get(state="accepted")
        arguments = {
            "": [], "slug": [world.campaign.slug], "submission": [world.submission.public_id], "item": [first.public_id],
            "release": [world.release.public_id], "job": [world.job.public_id], "key": ["accepted"],
        }[self.part]  # fmt: skip
        return reverse(f"web:{self.name}", args=arguments)

    def address_without_world(self) -> str:
        """Of a page that needs no row."""
        return reverse(f"web:{self.name}")

    def status(self, who: str) -> int:
        return self.statuses.get(who, self.otherwise)


MEMBERS = {"": LOGIN}
OWN = {"": LOGIN, "eve": 404}
PAGES = [
    Page("home"),
    Page("campaigns"),
    Page("campaign", "slug"),
    Page("campaign-new", "", {"": LOGIN, "ada": 200}, 403),
    Page("campaign-edit", "slug", {"": LOGIN, "ada": 200}, 403),
    Page("campaign-upload", "slug", MEMBERS),
    Page("submissions", "", MEMBERS),
    Page("submission", "submission", OWN),
    Page("submission-item", "item", OWN),
    Page("moderation", "", {"": LOGIN, "cleo": 200}, 403),
    Page("rewards", "", MEMBERS),
    Page("rewards-rows", "key", MEMBERS),
    Page("statement", "", MEMBERS),
    Page("releases"),
    Page("release", "release"),
    Page("jobs", "", MEMBERS),
    Page("job-new", "", MEMBERS),
    Page("job", "job", {"": LOGIN, "ben": 200}, 404),
    Page("job-rounds", "job", {"": LOGIN, "ben": 200}, 404),
    Page("network"),
    Page("tokens", "", MEMBERS),
]
ACCOUNT_PAGES = ["/accounts/login/", "/accounts/signup/", "/accounts/password/reset/"]
MEMBER_ACCOUNT_PAGES = [
    "/accounts/email/",
    "/accounts/password/change/",
    "/accounts/2fa/",
    "/accounts/logout/",
]

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Html(HTMLParser):
    """What the tests ask of a page: inline code, ids, labels, headings, unclosed tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.ids: Counter[str] = Counter()
        self.label_for: set[str] = set()
        self.controls: list[dict[str, str]] = []
        self.pictures_without_words: list[dict[str, str]] = []
        self.headings: list[int] = []
        self.open: list[str] = []
        self.misnested: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "style" or "style" in given or any(name.startswith("on") for name in given):
            self.inline.append(self.get_starttag_text() or tag)
        if tag == "script" and "src" not in given and given.get("type") != "application/json":
            self.inline.append(self.get_starttag_text() or tag)
        if "id" in given and "template" not in self.open:
            self.ids[given["id"]] += 1
        if tag == "label":
            self.label_for.add(given.get("for", ""))
        if tag in {"input", "select", "textarea"} and given.get("type") not in {"hidden", "submit"}:
            self.controls.append(given)
        if tag == "img" and "alt" not in given:
            self.pictures_without_words.append(given)
        if tag in {"h1", "h2", "h3", "h4"}:
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag) -> None:
        if tag in VOID:
            return
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.misnested.append(f"</{tag}> at {self.getpos()}, open: {self.open[-3:]}")

    @property
    def unlabelled(self) -> list[dict[str, str]]:
        return [
            one for one in self.controls
            if one.get("id") not in self.label_for and "aria-label" not in one and one.get("aria-hidden") != "true"
        ]  # fmt: skip
