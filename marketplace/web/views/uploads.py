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

from marketplace.errors import MarketError, WrongState
from marketplace.models import Campaign, Submission
from marketplace.selectors import campaigns
from marketplace.services import submissions as service
from marketplace.web.doors import button, explain, key_of, new_key, show_on_form
from marketplace.web.forms.upload import UploadForm

ACCEPTED = {
    "image": ".png,.jpg,.jpeg,.webp,.gif,.bmp,.tif,.tiff,.zip,.csv",
    "text": ".csv,.tsv,.jsonl,.ndjson,.txt,.zip",
    "tabular": ".csv,.tsv,.jsonl,.ndjson,.zip",
}


@button("web:campaign", "slug")
def upload(request: HttpRequest, slug: str) -> HttpResponseBase:
    campaign = campaigns.get(slug, request.user)
    if not campaign.accepts_uploads(timezone.now()):
        raise WrongState(_("This campaign takes no uploads at the moment."))
    posted = request.method == "POST"
    form = UploadForm(campaign, request.POST if posted else None, request.FILES if posted else None)
    if posted and form.is_valid():
        try:
            return _receive(request, campaign, form)
        except MarketError as error:
            show_on_form(form, error)
    context = {"campaign": campaign, "form": form, "accepted": ACCEPTED[campaign.modality], "key": new_key()}
    return render(request, "marketplace/uploads/upload.html", context)


def _receive(request: HttpRequest, campaign: Campaign, form: UploadForm) -> HttpResponseBase:
    """One refused file costs only itself; the others are received."""
    user: Any = request.user
    submission = service.start_submission(
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
