"""Jobs: the form with its cost, the page while it runs, the rounds and the batches."""

import json

import pytest

from marketplace.models import Job
from tests.marketplace.web.conftest import browser

SETTINGS = {
    "steps": "10",
    "batch_size": "4",
    "learning_rate": "0.05",
    "seed": "0",
    "width": "16",
    "limit": "",
}


def form(release, **changes) -> dict[str, str]:
    return {"release": str(release.public_id), "recipe": "image-cnn-small", "key": "k", **SETTINGS, **changes}


def test_the_cost_is_shown_before_anything_is_sent(release, ben) -> None:
    response = browser(ben).post("/jobs/new/", form(release, preview="1"), headers={"HX-Request": "true"})
    part = response.content.decode()
    assert "<html" not in part
    assert "0.04 <small>credits at most" in part
    assert "Not enough for the whole job" in part
    assert not Job.objects.exists()


def test_without_credits_the_job_is_refused_next_to_the_limit(release, ben) -> None:
    page = browser(ben).post("/jobs/new/", form(release)).content.decode()
    assert "You have 0 credits, and asked for 0.04." in page
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"steps": "0"}, "greater than or equal to 1"),
        ({"learning_rate": "x"}, "Enter a number."),
        ({"width": "65"}, "less than or equal to 64"),
        ({"limit": "0.0000001"}, "This does not pay for a single sample."),
    ],
)
def test_a_wrong_setting_is_told_in_words(changes, words, release, ben) -> None:
    assert words in browser(ben).post("/jobs/new/", form(release, **changes)).content.decode()
    assert not Job.objects.exists()


def test_a_recipe_for_other_data_is_not_offered(release, ben) -> None:
    page = browser(ben).get(f"/jobs/new/?release={release.public_id}&recipe=tabular-mlp").content.decode()
    assert 'value="image-cnn-small"' in page
    assert "tabular-mlp" not in page


def test_rounds_show_who_left(job, ben) -> None:
    page = browser(ben).get(f"/jobs/{job.public_id}/").content.decode()
    assert "south left" in page
    assert "north left" not in page
    assert "at the end" in page


def test_the_page_polls_until_the_job_is_over(job, ben) -> None:
    address = f"/jobs/{job.public_id}/"
    assert 'hx-trigger="every 3s"' in browser(ben).get(address).content.decode()
    Job.objects.update(state="completed")
    assert "every 3s" not in browser(ben).get(address).content.decode()


def test_the_curve_as_json(job, ben, eve) -> None:
    answer = browser(ben).get(f"/jobs/{job.public_id}/curve.json")
    assert json.loads(answer.content) == {
        "over": False, "points": [{"step": 1, "loss": 1.0, "accuracy": 0.5}, {"step": 2, "loss": 0.5, "accuracy": 1.0}],
    }  # fmt: skip
    assert browser(eve).get(f"/jobs/{job.public_id}/curve.json").status_code == 404


def test_a_checkpoint_that_is_not_there_is_a_missing_page(job, ben) -> None:
    assert browser(ben).get(f"/jobs/{job.public_id}/checkpoint/").status_code == 404


def test_a_step_without_a_round_is_a_missing_page(job, ben) -> None:
    assert browser(ben).get(f"/jobs/{job.public_id}/batches/99/").status_code == 404


def test_a_strangers_cancel_is_a_missing_page(job, eve) -> None:
    assert browser(eve).post(f"/jobs/{job.public_id}/cancel/").status_code == 404
    job.refresh_from_db()
    assert job.state == "running"


@pytest.mark.parametrize("items, words", [(1, "1 item to train on"), (2, "2 items to train on")])
def test_one_item_is_no_plural(items, words, release, ben) -> None:
    type(release).objects.update(train_items=items)
    assert words in browser(ben).get("/jobs/new/").content.decode()
