"""A campaign's life, and who may lead it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from marketplace.errors import InvalidInput, KeyReused, NotAllowed, NotFound, WrongState
from marketplace.models import Campaign
from marketplace.rules.schema import CampaignDraft
from marketplace.selectors import campaigns as selectors
from marketplace.services.campaigns import (
    close_campaign,
    create_campaign,
    fund_campaign,
    open_campaign,
    update_campaign,
)
from tests.marketplace.world import HYD, accepted_items, budget_of, make_campaign

DRAFT = CampaignDraft(title="Street signs", modality="image", classes=["stop", "go"])


def test_two_campaigns_of_one_title_get_two_addresses(ada):
    slugs = [create_campaign(ada, DRAFT).slug for _ in range(3)]
    assert slugs == ["street-signs", "street-signs-2", "street-signs-3"]


def test_a_title_without_letters_has_an_address_too(ada):
    assert (
        create_campaign(ada, CampaignDraft(title="信号机の写真", modality="image", classes=["a", "b"])).slug
        == "campaign"
    )


def test_only_sponsors_create(ben):
    with pytest.raises(NotAllowed):
        create_campaign(ben, DRAFT)
    assert not Campaign.objects.exists()


def test_a_campaign_opens_closes_and_opens_again(ada):
    campaign = create_campaign(ada, DRAFT)
    assert open_campaign(campaign, by=ada).state == "open"
    opened = campaign.opened_at
    with pytest.raises(WrongState):
        open_campaign(campaign, by=ada)
    assert close_campaign(campaign, by=ada).closed_at is not None
    assert open_campaign(campaign, by=ada).opened_at == opened
    assert campaign.closed_at is None


def test_a_stranger_changes_nothing(ada, eve):
    campaign = create_campaign(ada, DRAFT)
    for act in (open_campaign, close_campaign):
        with pytest.raises(NotAllowed):
            act(campaign, by=eve)
    with pytest.raises(NotAllowed):
        update_campaign(campaign, {"title": "Mine now"}, by=eve)
    with pytest.raises(NotAllowed):
        fund_campaign(campaign, HYD, by=eve, key="k")


def test_what_contributors_agreed_to_stays(ada):
    campaign = create_campaign(ada, DRAFT)
    update_campaign(campaign, {"classes": ["stop", "go", "yield"], "consent_text": "Yes."}, by=ada)
    assert (campaign.consent_version, campaign.policy_version) == (2, 1)
    update_campaign(campaign, {"policy": {"cold_start": "review"}}, by=ada)
    assert campaign.policy_version == 2
    open_campaign(campaign, by=ada)
    update_campaign(campaign, {"description": "All of them."}, by=ada)
    with pytest.raises(WrongState, match="classes"):
        update_campaign(campaign, {"classes": ["stop"]}, by=ada)
    campaign.refresh_from_db()
    assert (campaign.classes, campaign.description) == (["stop", "go", "yield"], "All of them.")


def test_a_change_is_checked_as_a_draft_is(ada):
    campaign = create_campaign(ada, DRAFT)
    for changes, place in [({"title": ""}, "title"), ({"owner": 1}, "owner")]:
        with pytest.raises(InvalidInput) as refused:
            update_campaign(campaign, changes, by=ada)
        assert place in refused.value.fields


def test_a_passed_deadline_cannot_open(ada):
    campaign = create_campaign(ada, DRAFT)
    campaign.deadline = timezone.now() - timedelta(hours=1)
    campaign.save()
    with pytest.raises(InvalidInput):
        open_campaign(campaign, by=ada)


def test_money_arrives_once_per_key(ada):
    campaign = create_campaign(ada, DRAFT)
    for _ in range(2):
        fund_campaign(campaign, 5 * HYD, by=ada, key="k")
    fund_campaign(campaign, HYD, by=ada, key="l")
    assert budget_of(campaign).remaining == 6 * HYD
    with pytest.raises(KeyReused):
        fund_campaign(campaign, 7 * HYD, by=ada, key="k")


@pytest.mark.parametrize("amount, key", [(0, "k"), (-1, "k"), (True, "k"), (1.5, "k"), (2**63, "k"), (1, "")])
def test_amounts_that_are_none_are_refused(ada, amount, key):
    campaign = create_campaign(ada, DRAFT)
    with pytest.raises(InvalidInput):
        fund_campaign(campaign, amount, by=ada, key=key)


def test_too_much_at_once_is_told_with_the_most(ada):
    campaign = create_campaign(ada, DRAFT)
    for amount in (2**63 - 1, 2**63 // 1000 + 1):
        with pytest.raises(InvalidInput, match=r"^At most 9223372\.036854775 HYD at once"):
            fund_campaign(campaign, amount, by=ada, key="k")
    fund_campaign(campaign, 9_223_372_036_854_775, by=ada, key="k")
    assert budget_of(campaign).remaining == 9_223_372_036_854_775


def test_a_stored_draft_that_cannot_work_does_not_open(ada):
    campaign = make_campaign(ada, "one", state="draft", budget=0, classes=["only"])
    with pytest.raises(InvalidInput, match="two or more"):
        open_campaign(campaign, by=ada)
    campaign.refresh_from_db()
    assert campaign.state == "draft"


def test_drafts_are_their_owners(ada, eve, django_user_model):
    campaign = create_campaign(ada, DRAFT)
    assert selectors.get(campaign.slug, ada) == campaign
    for viewer in (eve, None):
        with pytest.raises(NotFound):
            selectors.get(campaign.slug, viewer)
    open_campaign(campaign, by=ada)
    assert selectors.get(campaign.slug, None) == campaign


def test_counts_and_shares_are_of_accepted_items(ada, ben):
    sex = {"name": "sex", "values": ["f", "m"], "targets": {"f": 0.5}}
    campaign = make_campaign(ada, "people", budget=0, attributes=[sex])
    accepted_items(campaign, ben, 3, attributes={"sex": "f"})
    counted = selectors.with_counts(selectors.visible_to(None)).get()
    assert (counted.items_received, counted.items_accepted, counted.contributors) == (3, 3, 1)
    assert [(c.name, c.accepted) for c in selectors.class_counts(campaign)] == [("cross", 2), ("ring", 1)]
    assert selectors.attribute_shares(campaign)[0].rows == (("f", 3, 1.0, 0.5), ("m", 0, 0.0, None))
