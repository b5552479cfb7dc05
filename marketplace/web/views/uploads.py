"""Sending data to a campaign. With JavaScript the page feeds the API file by file; without it, this form is posted."""

from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from marketplace.errors import MarketError, NotFound, WrongState
from marketplace.models import Campaign, Submission
from marketplace.selectors import campaigns, submissions
from marketplace.services import submissions as service
from marketplace.web.doors import button, explain, key_of, new_key, show_on_form
from marketplace.web.forms.upload import UploadForm

ACCEPTED = {
    "image": ".png,.jpg,.jpeg,.webp,.gif,.bmp,.tif,.tiff,.zip,.csv",
    "text": ".csv,.tsv,.jsonl,.ndjson,.txt,.zip",
    "tabular": ".csv,.tsv,.jsonl,.ndjson,.zip",
}


SINGLE = {
    "image": ".png,.jpg,.jpeg,.webp,.gif,.bmp,.tif,.tiff",
    "text": ".txt",
    "tabular": "",
}  # one item each


@button("web:campaign", "slug")
def upload(request: HttpRequest, slug: str) -> HttpResponseBase:
    campaign = campaigns.get(slug, request.user)
    if not campaign.accepts_uploads(timezone.now()):
        raise WrongState(_("This campaign takes no uploads at the moment."))
    posted = request.method == "POST"
    submission = _find_open(request, campaign)
    form = UploadForm(campaign, request.POST if posted else None, request.FILES if posted else None)
    if posted and form.is_valid():
        try:
            return _receive(request, campaign, form, submission)
        except MarketError as error:
            show_on_form(form, error)
    context = {
        "campaign": campaign, "form": form, "accepted": ACCEPTED[campaign.modality], "key": new_key(),
        "single": SINGLE[campaign.modality], "submission": submission, "budget": campaigns.budget(campaign),
    }  # fmt: skip
    return render(request, "marketplace/uploads/upload.html", context)


def _find_open(request: HttpRequest, campaign: Campaign) -> Submission | None:
    """The submission that `submission` names, to add files to: the person's own, of this campaign, still receiving.

    Raises: NotFound, WrongState.
    """
    asked = request.POST.get("submission") or request.GET.get("submission")
    if not asked:
        return None
    found = submissions.get(asked, request.user)
    if found.campaign_id != campaign.pk or found.contributor_id != request.user.pk:
        raise NotFound
    if found.state != Submission.State.RECEIVING:
        raise WrongState(_("That submission is finished. Files you send now make another one."))
    if found.consent_version != campaign.consent_version:
        raise WrongState(
            _("The terms have changed since that submission. Finish it, then send the rest anew.")
        )
    return found


def _receive(
    request: HttpRequest, campaign: Campaign, form: UploadForm, submission: Submission | None
) -> HttpResponseBase:
    """One refused file costs only itself; the others are received."""
    user: Any = request.user
    submission = submission or service.start_submission(
        campaign, user, consent_version=form.cleaned_data["consent_version"], idempotency_key=key_of(request)
    )
    for file in form.cleaned_data["chosen"]:
        try:
            _receive_one(submission, file, form, user)
        except MarketError as error:
            messages.warning(request, f"{file.name}: {explain(error)}")
    service.complete_submission(submission, by=user)
    return redirect("web:submission", public_id=submission.public_id)


def _receive_one(submission: Submission, file: UploadedFile, form: UploadForm, user: Any) -> None:
    with NamedTemporaryFile(suffix=Path(str(file.name)).suffix[:10]) as copy:
        for chunk in file.chunks():
            copy.write(chunk)
        copy.flush()
        received = service.ReceivedFile(
            name=str(file.name),
            path=Path(copy.name),
            label=form.cleaned_data["label"],
            attributes=form.attributes(),
        )
        service.receive_file(submission, received, by=user)
