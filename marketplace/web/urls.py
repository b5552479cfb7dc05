"""Addresses of the pages, by what a person looks for."""

from django.urls import path

from marketplace.web.views import home

app_name = "web"
urlpatterns = [
    path("", home.home, name="home"),
]
