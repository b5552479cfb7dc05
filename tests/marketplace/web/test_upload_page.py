"""Uploading without JavaScript: the same services, one form."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from marketplace.models import Item, Submission
from tests.marketplace.web.conftest import browser, make_campaign


@pytest.fixture
def notes(ada):
    return make_campaign(ada, "notes", modality="text", classes=["good", "bad"])


def table(
    name: str = "notes.csv", text: str = "text,label\nfine day,good\ngrim day,bad\n"
) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode())


def test_files_become_items_with_their_label(notes, ben) -> None:
    form = {
        "chosen": [table(), table("more.csv", "text,label\nquite so,good\n")],
        "consent": "on",
        "consent_version": "1",
        "key": "k",
        "attribute-0": "left",
    }
    response = browser(ben).post(f"/campaigns/{notes.slug}/upload/", form)
    made = Submission.objects.get()
    assert response["Location"] == f"/submissions/{made.public_id}/"
    assert (made.state, made.items.count(), made.contributor) == ("queued", 3, ben)
    assert made.items.first().attributes == {"hand": "left"}


def test_a_refused_file_costs_only_itself(notes, ben) -> None:
    form = {
        "chosen": [table(), SimpleUploadedFile("empty.csv", b"text,label\n")],
        "consent": "on",
        "consent_version": "1",
        "key": "k",
    }
    page = browser(ben).post(f"/campaigns/{notes.slug}/upload/", form, follow=True).content.decode()
    assert "empty.csv" in page
    assert Item.objects.filter(state="pending").count() == 2


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"consent": ""}, "Without your agreement nothing can be sent."),
        ({"chosen": ""}, "Choose at least one file."),
        ({"label": "other"}, "Select a valid choice."),
    ],
)
def test_a_wrong_form_is_told_in_words(changes, words, notes, ben) -> None:
    form = {"chosen": table(), "consent": "on", "consent_version": "1", "key": "k", **changes}
    page = browser(ben).post(f"/campaigns/{notes.slug}/upload/", form).content.decode()
    assert words in page
    assert not Submission.objects.exists()


def test_a_closed_campaign_takes_nothing(ada, ben) -> None:
    closed = make_campaign(ada, state="closed")
    page = browser(ben).get(f"/campaigns/{closed.slug}/upload/", follow=True).content.decode()
    assert "This campaign takes no uploads at the moment." in page


def test_the_form_tells_javascript_where_to_send(notes, ben) -> None:
    page = browser(ben).get(f"/campaigns/{notes.slug}/upload/").content.decode()
    assert f'data-start="/api/v1/campaigns/{notes.slug}/submissions"' in page
    assert 'data-consent-version="1"' in page
    assert '<script id="classes" type="application/json">["good", "bad"]</script>' in page


def test_an_agreement_to_an_older_text_is_not_taken(notes, ben) -> None:
    notes.consent_version = 2
    notes.save()
    form = {"chosen": table(), "consent": "on", "consent_version": "1", "key": "k"}
    page = browser(ben).post(f"/campaigns/{notes.slug}/upload/", form).content.decode()
    assert "The consent in force is version 2; read it and agree to it." in page
    assert not Submission.objects.exists()


def begun(campaign, user) -> Submission:
    return Submission.objects.create(campaign=campaign, contributor=user, consent_version=1)


def test_files_are_added_to_a_submission_that_is_still_receiving(notes, ben) -> None:
    earlier = begun(notes, ben)
    address = f"/campaigns/{notes.slug}/upload/?submission={earlier.public_id}"
    page = browser(ben).get(address).content.decode()
    assert f'data-submission="{earlier.public_id}"' in page
    assert "These files are added to your submission" in page
    form = {
        "chosen": table(),
        "consent": "on",
        "consent_version": "1",
        "key": "k",
        "submission": earlier.public_id,
    }
    browser(ben).post(address, form)
    assert (Submission.objects.get().pk, earlier.items.count()) == (earlier.pk, 2)


def test_nothing_is_added_to_another_ones_or_a_finished_submission(notes, ben, ada) -> None:
    earlier = begun(notes, ben)
    address = f"/campaigns/{notes.slug}/upload/?submission={earlier.public_id}"
    assert browser(ada).get(address).status_code == 404
    Submission.objects.update(state="queued")
    page = browser(ben).get(address, follow=True).content.decode()
    assert "That submission is finished." in page


@pytest.mark.parametrize("modality, single", [("image", ".png,"), ("text", ".txt"), ("tabular", "")])
def test_the_form_says_which_files_need_a_label(modality, single, ada, ben) -> None:
    made = make_campaign(ada, "one", modality=modality)
    page = browser(ben).get(f"/campaigns/{made.slug}/upload/").content.decode()
    assert f'data-single="{single}' in page
