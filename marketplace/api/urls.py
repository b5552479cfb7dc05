"""Every door of the API under /api/v1/; unknown paths answer in JSON too."""

from django.urls import path, re_path

from marketplace.api.views import (
    accounts,
    backbone,
    campaigns,
    items,
    jobs,
    moderation,
    network,
    releases,
    rewards,
)
from marketplace.api.views import submissions as sent
from marketplace.api.views.base import NoSuchDoor, Schema
from marketplace.api.views.docs import docs

CAMPAIGN = "campaigns/<slug:slug>"
SUBMISSION = "submissions/<uuid:public_id>"
ITEM = "items/<uuid:public_id>"
RELEASE = "releases/<uuid:public_id>"
JOB = "jobs/<uuid:public_id>"
NETWORK_JOB = "network/jobs/<uuid:public_id>"

urlpatterns = [
    path("schema/", Schema.as_view(), name="api-schema"),
    path("docs/", docs, name="api-docs"),
    path("auth/register", accounts.Register.as_view(), name="register"),
    path("auth/token", accounts.Tokens.as_view(), name="token"),
    path("auth/revoke", accounts.RevokeToken.as_view(), name="revoke"),
    path("me", accounts.Me.as_view(), name="me"),
    path("campaigns", campaigns.Campaigns.as_view(), name="campaigns"),
    path(CAMPAIGN, campaigns.OneCampaign.as_view(), name="campaign"),
    path(f"{CAMPAIGN}/open", campaigns.OpenCampaign.as_view(), name="campaign-open"),
    path(f"{CAMPAIGN}/close", campaigns.CloseCampaign.as_view(), name="campaign-close"),
    path(f"{CAMPAIGN}/fund", campaigns.FundCampaign.as_view(), name="campaign-fund"),
    path(f"{CAMPAIGN}/submissions", sent.StartSubmission.as_view(), name="submission-start"),
    path(f"{CAMPAIGN}/releases", releases.CampaignReleases.as_view(), name="campaign-releases"),
    path("submissions", sent.Submissions.as_view(), name="submissions"),
    path(SUBMISSION, sent.OneSubmission.as_view(), name="submission"),
    path(f"{SUBMISSION}/files", sent.SubmissionFiles.as_view(), name="submission-files"),
    path(f"{SUBMISSION}/complete", sent.CompleteSubmission.as_view(), name="submission-complete"),
    path(f"{SUBMISSION}/items", sent.SubmissionItems.as_view(), name="submission-items"),
    path(ITEM, items.OneItem.as_view(), name="item"),
    path(f"{ITEM}/content", items.ItemContent.as_view(), name="item-content"),
    path(f"{ITEM}/verdicts", items.ItemVerdicts.as_view(), name="item-verdicts"),
    path(f"{ITEM}/proof", rewards.Proof.as_view(), name="item-proof"),
    path("moderation/queue", moderation.Queue.as_view(), name="queue"),
    path("moderation/verdicts", moderation.BulkVerdicts.as_view(), name="bulk-verdicts"),
    path("rewards/balance", rewards.BalanceView.as_view(), name="balance"),
    path("rewards/statement", rewards.Statement.as_view(), name="statement"),
    path("rewards/unlock", rewards.Unlock.as_view(), name="unlock"),
    path("ledger/totals", rewards.Totals.as_view(), name="totals"),
    path(RELEASE, releases.OneRelease.as_view(), name="release"),
    path(f"{RELEASE}/manifest", releases.Manifest.as_view(), name="manifest"),
    path(f"{RELEASE}/files/<str:name>", releases.ReleaseFile.as_view(), name="release-file"),
    path("recipes", jobs.Recipes.as_view(), name="recipes"),
    path("jobs", jobs.Jobs.as_view(), name="jobs"),
    path(JOB, jobs.OneJob.as_view(), name="job"),
    path(f"{JOB}/rounds", jobs.Rounds.as_view(), name="job-rounds"),
    path(f"{JOB}/curve", jobs.Curve.as_view(), name="job-curve"),
    path(f"{JOB}/batches/<int:step>", jobs.Batch.as_view(), name="job-batch"),
    path(f"{JOB}/cancel", jobs.CancelJob.as_view(), name="job-cancel"),
    path(f"{JOB}/checkpoint", jobs.Checkpoint.as_view(), name="job-checkpoint"),
    path("network/codes", network.Codes.as_view(), name="codes"),
    path("network/enrol", network.Enrol.as_view(), name="enrol"),
    path("network/backbones", network.Backbones.as_view(), name="backbones"),
    path("network/peers", network.Peers.as_view(), name="peers"),
    path("network/presence", backbone.Presence.as_view(), name="presence"),
    path("network/enrolments", backbone.Enrolments.as_view(), name="enrolments"),
    path("network/jobs", backbone.NetworkJobs.as_view(), name="network-jobs"),
    path(f"{NETWORK_JOB}/start", backbone.StartJob.as_view(), name="job-start"),
    path(f"{NETWORK_JOB}/rounds", backbone.RecordRounds.as_view(), name="job-record-rounds"),
    path(f"{NETWORK_JOB}/metrics", backbone.RecordMetrics.as_view(), name="job-record-metrics"),
    path(f"{NETWORK_JOB}/checkpoint", backbone.PutCheckpoint.as_view(), name="job-put-checkpoint"),
    path(f"{NETWORK_JOB}/finish", backbone.FinishJob.as_view(), name="job-finish"),
    re_path(r"", NoSuchDoor.as_view()),
]
