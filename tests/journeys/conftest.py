"""A real server and a real Chromium for the browser's journeys.

Run by `pytest -m journey`. SQLite lies in a file here, since the browser's parallel requests need a connection each.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache

from config.settings import base
from tests.marketplace.conftest import ada, ben, cleo, eve  # noqa: F401 - the cast
from tests.marketplace.web.conftest import (  # noqa: F401 - the pages' small world
    campaign,
    job,
    release,
    submission,
    world,
)
from tests.marketplace.world import PASSWORD

CHROMIUM = os.environ.get("HYDRA_CHROMIUM", "/usr/bin/chromium")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    tmp_path_factory, django_db_modify_db_settings_parallel_suffix: None
) -> None:
    from django.conf import settings

    default = settings.DATABASES["default"]
    if default["ENGINE"].endswith("sqlite3"):
        folder = tmp_path_factory.mktemp("database")
        default.setdefault("TEST", {})["NAME"] = str(folder / "journeys.sqlite3")


@pytest.fixture(autouse=True)
def _site(settings, tmp_path) -> None:
    """Front-end packages as in production."""
    settings.STATICFILES_DIRS = base.STATICFILES_DIRS
    settings.MEDIA_ROOT = tmp_path / "media"
    cache.clear()


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """Playwright keeps an event loop in this thread, which must not stop the ORM from being used here."""
    from playwright import sync_api as playwright

    if not Path(CHROMIUM).exists():
        pytest.fail(f"there is no Chromium at {CHROMIUM}; name one in HYDRA_CHROMIUM")
    with pytest.MonkeyPatch.context() as patch, playwright.sync_playwright() as driver:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Tab:
    """A person's browser window: opens pages of the live server and remembers what went wrong in them."""

    def __init__(self, chromium, address: str, **options) -> None:
        self.context = chromium.new_context(base_url=address, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.problems: list[str] = []
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))

    def _note(self, kind: str, text: str) -> None:
        if kind == "error":
            self.problems.append(text)

    def log_in(self, email: str) -> None:
        self.page.goto("/accounts/login/")
        self.page.fill("#id_login", email)
        self.page.fill("#id_password", PASSWORD)
        self.page.click("main button[type=submit]")
        self.page.wait_for_url("**/")


@pytest.fixture
def tab(chromium, live_server) -> Iterator[object]:
    """Call it for a window; `width` in CSS pixels, `theme` light or dark."""
    opened: list[Tab] = []

    def open_tab(width: int = 1280, theme: str = "light") -> Tab:
        made = Tab(chromium, live_server.url, viewport={"width": width, "height": 900}, color_scheme=theme)
        opened.append(made)
        return made

    yield open_tab
    for one in opened:
        one.context.close()
