"""Addresses of the pages, by what a person looks for."""

from django.urls import path

from marketplace.web.views import campaigns, home

app_name = "web"
urlpatterns = [
    path("", home.home, name="home"),
    path("campaigns/", home.home, name="campaigns"),
    path("submissions/", home.home, name="submissions"),
    path("rewards/", home.home, name="rewards"),
    path("jobs/", home.home, name="jobs"),
    path("releases/", home.home, name="releases"),
    path("network/", home.home, name="network"),
    path("moderation/", home.home, name="moderation"),
    path("tokens/", home.home, name="tokens"),
]
