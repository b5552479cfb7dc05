"""Every door of the API under /api/v1/; unknown paths answer in JSON too."""

from django.urls import path, re_path
from drf_spectacular.views import SpectacularAPIView

from marketplace.api import schema  # noqa: F401 (registers the extension)
from marketplace.api.views.base import NoSuchDoor

urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(permission_classes=[]), name="api-schema"),
    re_path(r"", NoSuchDoor.as_view()),
]
