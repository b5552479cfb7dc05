"""The cast of the API's tests, and a client per member and scope.

Ada sponsors and owns campaigns, Ben contributes, Cleo moderates, Dan sponsors another campaign, Eve is a stranger.
"""

import pytest
from django.core.cache import cache
from django.test import Client

from marketplace.models import ApiToken, Campaign, User
from tests.marketplace.world import make_user

DRAFT = {"title": "Digits", "modality": "image", "classes": ["0", "1"]}


@pytest.fixture(autouse=True)
def _fresh_rates():
    cache.clear()


@pytest.fixture
def dan(db) -> User:
    return make_user("dan", "sponsor")


def token_for(user: User, *scopes: str, **fields) -> str:
    secret = f"hyd_{user.pk}_{'_'.join(scopes)}"
    ApiToken.objects.update_or_create(
        digest=ApiToken.digest_of(secret),
        defaults={"user": user, "name": "test", "scopes": list(scopes or ("read", "write")), **fields},
    )
    return secret


class Caller(Client):
    """A test client that sends a token and speaks JSON; paths are below /api/v1/. Answers carry their `body`."""

    def __init__(self, secret: str = "") -> None:
        super().__init__(headers={"Authorization": f"Bearer {secret}"} if secret else None)

    def request(self, **request):
        response = super().request(**request)
        response.body = b"".join(response.streaming_content) if response.streaming else response.content
        return response

    def ask(self, path: str, **options):
        return self.get(f"/api/v1/{path}", **options)

    def send(self, path: str, body=None, *, key: str = "", method: str = "post", **options):
        headers = {"Idempotency-Key": key} if key else None
        content = {} if body is None else body
        call = getattr(self, method)
        return call(f"/api/v1/{path}", content, content_type="application/json", headers=headers, **options)


def caller(user: User | None = None, *scopes: str) -> Caller:
    return Caller(token_for(user, *scopes) if user else "")


def make_campaign(owner: User, slug: str = "digits", **fields) -> Campaign:
    terms = {"modality": "image", "state": "open", "classes": ["0", "1"], "consent_text": "Yes.", **fields}
    return Campaign.objects.create(slug=slug, title=slug.title(), owner=owner, **terms)


@pytest.fixture
def campaign(ada) -> Campaign:
    return make_campaign(ada)
