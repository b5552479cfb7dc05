"""What people do in a browser, from signing up to seeing their reward; checks run as a worker would run them."""

import io

import numpy as np
import pytest
from django.contrib.auth.models import Permission
from PIL import Image

from ledger import service as ledger
from marketplace.models import Campaign, Item, Submission, User
from marketplace.rules.schema import CampaignDraft
from marketplace.services import campaigns
from marketplace.services.validation import validate_submission
from tests.journeys.conftest import PASSWORD

pytestmark = [pytest.mark.journey, pytest.mark.django_db(transaction=True)]


def member(email: str, name: str, *permissions: str) -> User:
    user = User.objects.create_user(email, PASSWORD, display_name=name)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return User.objects.get(pk=user.pk)


@pytest.fixture
def shapes(db) -> Campaign:
    """Pictures that a person looks at each, since the campaign is new and says so."""
    sponsor = member("sponsor@example.org", "Sponsor", "sponsor")
    draft = CampaignDraft(
        title="Stripes and rings", modality="image", classes=["stripes", "rings"], image_channels=1, image_min_side=28,
        consent_text="I made these pictures.", policy={"cold_start": "review"}, reward_base=2 * 10**9,
    )  # fmt: skip
    made = campaigns.create_campaign(sponsor, draft)
    campaigns.open_campaign(made, by=sponsor)
    campaigns.fund_campaign(made, 100 * 10**9, by=sponsor, key="first")
    return made


def picture(number: int) -> bytes:
    """Noise over stripes whose width and slope differ by number: no two are near duplicates."""
    rng = np.random.default_rng(number)
    y, x = np.mgrid[0:96, 0:96]
    slope, width = rng.uniform(-3, 3), rng.uniform(4, 20)
    stripes = 110 + 90 * np.sin((x + slope * y) / width + rng.uniform(0, 6))
    pixels = np.clip(stripes + rng.normal(0, 18, (96, 96)), 0, 255).astype("uint8")
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def files(count: int) -> list[dict]:
    return [{"name": f"stripe-{n}.png", "mimeType": "image/png", "buffer": picture(n)} for n in range(count)]


def test_from_signing_up_to_a_reward(tab, shapes) -> None:
    newcomer = tab()
    sign_up(newcomer)
    submission = upload(newcomer, shapes)
    watch_validation(newcomer, submission)
    moderator = decide_by_keyboard(tab, submission)
    assert_outcome(newcomer, submission)
    assert newcomer.problems == []
    assert moderator.problems == []


def sign_up(newcomer) -> None:
    page = newcomer.page
    page.goto("/")
    page.click("text=Start contributing")
    page.fill("#id_email", "nina@example.org")
    page.fill("#id_password1", PASSWORD)
    page.fill("#id_password2", PASSWORD)
    page.click("main button[type=submit]")
    page.wait_for_selector("text=My submissions")


def upload(newcomer, campaign: Campaign) -> Submission:
    """Five pictures and one that repeats the first, at most four on the way at once."""
    page = newcomer.page
    page.goto(f"/campaigns/{campaign.slug}/")
    page.click("text=Upload data")
    again = {**files(1)[0], "name": "again.png"}
    page.set_input_files("#id_chosen", [*files(5), again])
    assert page.locator("[data-files] li").count() == 6
    page.click("[data-send]")
    assert "Tick the box under the agreement first." in page.inner_text("#upload-form")
    page.select_option("#id_label", "stripes")
    page.check("#id_consent")
    page.click("[data-send]")
    page.wait_for_url("**/submissions/*/")
    made = Submission.objects.get()
    assert made.state == "queued"
    assert set(made.items.values_list("label", flat=True)) == {"stripes"}
    return made


def watch_validation(newcomer, submission: Submission) -> None:
    """The page is open before the worker begins, and changes by itself."""
    page = newcomer.page
    assert "Waiting for validation" in page.inner_text("#live")
    validate_submission(submission.pk)
    page.wait_for_selector("#live >> text=Validated")
    page.wait_for_selector("#items >> text=Waiting for a moderator")
    terms = page.locator(".equation .term b").all_inner_texts()
    received, *parts = map(int, terms)
    assert received == 6 == sum(parts)
    assert parts[1] == 1  # the copy


def decide_by_keyboard(tab, submission: Submission):
    member("mod@example.org", "Moderator", "moderate")
    moderator = tab()
    moderator.log_in("mod@example.org")
    page = moderator.page
    page.goto("/moderation/")
    waiting = Item.objects.filter(submission=submission, needs_review=True).count()
    assert page.locator("[data-card]").count() == waiting >= 3
    page.keyboard.press("j")
    page.keyboard.press("a")
    page.wait_for_selector(".decided >> text=Accepted")
    page.locator("[data-card]").nth(1).locator("select").select_option("The label is wrong.")
    page.locator("[data-card]").nth(1).focus()
    page.keyboard.press("r")
    page.wait_for_selector(".decided >> text=Rejected")
    page.goto("/moderation/")
    page.check("[data-tick-all]")
    page.click("text=Accept ticked")
    page.wait_for_selector("text=Nothing waits for you")
    return moderator


def assert_outcome(newcomer, submission: Submission) -> None:
    page = newcomer.page
    page.goto(f"/submissions/{submission.public_id}/?state=rejected")
    assert "The label is wrong." in page.inner_text("#items")
    pending = ledger.balances(submission.contributor.ledger_ref).pending
    earned = sum(submission.items.filter(state="accepted").values_list("reward", flat=True))
    assert pending == earned > 0
    page.goto("/rewards/")
    shown = page.locator(".figure", has_text="Pending").locator(".figure-value").inner_text()
    assert round(float(shown.replace(",", "")) * 10**9) == pending


def test_a_file_that_fails_can_be_sent_again(tab, shapes) -> None:
    """The connection breaks under one file; the rest is kept, and the retry sends only that one."""
    member("ben@example.org", "Ben")
    window = tab()
    window.log_in("ben@example.org")
    page = window.page
    page.goto(f"/campaigns/{shapes.slug}/upload/")
    broken = {"left": 1}

    def break_one(route) -> None:
        if broken["left"]:
            broken["left"] -= 1
            route.abort()
        else:
            route.continue_()

    page.route("**/files", break_one)
    page.set_input_files("#id_chosen", files(4))
    page.select_option("#id_label", "stripes")
    page.check("#id_consent")
    page.click("[data-send]")
    page.wait_for_selector("text=Send the failed ones again")
    assert Item.objects.count() == 3
    page.click("[data-send]")
    page.wait_for_url("**/submissions/*/")
    assert Item.objects.count() == 4


def test_the_theme_is_remembered(tab) -> None:
    window = tab()
    page = window.page
    page.goto("/")
    assert page.evaluate("document.documentElement.dataset.bsTheme") == "light"
    page.click("[data-theme-toggle]")
    page.goto("/campaigns/")
    assert page.evaluate("document.documentElement.dataset.bsTheme") == "dark"
    assert window.problems == []


def test_the_cost_follows_the_settings(tab, world) -> None:
    """Before anything is sent, as the numbers are typed."""
    window = tab()
    window.log_in("ben@example.org")
    page = window.page
    page.goto(f"/jobs/new/?release={world.release.public_id}")
    page.fill("#id_steps", "7")
    page.fill("#id_batch_size", "10")
    page.wait_for_selector("#cost >> text=0.07")
    page.fill("#id_steps", "")
    page.wait_for_selector("#cost >> text=Fill in steps and batch size")
    assert window.problems == []


def test_a_campaign_is_written_without_json(tab) -> None:
    """Only the fields of the chosen kind are there, and attributes come by the row."""
    member("ada@example.org", "Ada", "sponsor")
    window = tab(375)
    window.log_in("ada@example.org")
    page = window.page
    page.goto("/campaigns/new/")
    assert not page.is_visible("#id_columns")
    page.check("input[name=modality][value=tabular]")
    assert page.is_visible("#id_columns")
    assert not page.is_visible("#id_image_min_side")
    page.fill("#id_title", "Weather at noon")
    page.fill("#id_classes", "sun\nrain")
    page.fill("#id_columns", "pressure: number 900 to 1100")
    page.fill("#id_groups-0-name", "season")
    page.fill("#id_groups-0-shares", "summer: 50\nwinter: 50")
    page.click("[data-add-row]")
    page.fill("#id_groups-1-name", "place")
    page.fill("#id_groups-1-shares", "coast")
    page.click("text=Save the draft")
    page.wait_for_selector("text=Open for uploads")
    made = Campaign.objects.get()
    assert [one["name"] for one in made.attributes] == ["season", "place"]
    assert window.problems == []


def test_one_bad_file_does_not_hold_up_the_others(tab, shapes) -> None:
    """It can be removed, and what arrived goes on; sending without a label is asked about first."""
    member("ben@example.org", "Ben")
    bad = {"name": "broken.zip", "mimeType": "application/zip", "buffer": b"PK\x03\x04 not an archive"}
    for way in ("Go on without the failed ones", "Finish"):
        window = tab()
        window.log_in("ben@example.org")
        page = window.page
        page.goto(f"/campaigns/{shapes.slug}/upload/")
        page.set_input_files("#id_chosen", [files(1)[0], bad])
        page.check("#id_consent")
        page.click("[data-send]")
        page.wait_for_selector("text=1 file has no label.")
        assert not Submission.objects.filter(state="receiving").exists()
        page.select_option("#id_label", "stripes")
        page.click("[data-send]")
        page.wait_for_selector("text=Send the failed ones again")
        if way == "Finish":
            page.click("[aria-label='Remove broken.zip']")
            assert page.locator("[data-files] li").count() == 1
        page.click(f"button:has-text('{way}')")
        page.wait_for_url("**/submissions/*/")
        assert Submission.objects.latest("pk").state == "queued"


def test_an_upload_left_half_way_is_taken_up_again(tab, shapes) -> None:
    ben = member("ben@example.org", "Ben")
    begun = Submission.objects.create(
        campaign=shapes, contributor=ben, consent_version=shapes.consent_version
    )
    window = tab(375)
    window.log_in("ben@example.org")
    page = window.page
    page.goto(f"/submissions/{begun.public_id}/")
    page.click("text=Add files")
    page.set_input_files("#id_chosen", files(2))
    page.select_option("#id_label", "stripes")
    page.check("#id_consent")
    page.click("[data-send]")
    page.wait_for_url(f"**/submissions/{begun.public_id}/")
    assert (Submission.objects.get().state, begun.items.count()) == ("queued", 2)
    assert window.problems == []


def test_a_phone_shows_every_column(tab, world) -> None:
    window = tab(375)
    window.log_in("ben@example.org")
    page = window.page
    page.goto("/jobs/")
    for cell in page.locator(".table-box td").all():
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= 375
        assert box["height"] < 90  # a line or two, no gaps
        assert cell.evaluate("one => getComputedStyle(one, '::before').content").strip('"')
