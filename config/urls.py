"""Where each door hangs: pages at the root, the API under /api/v1/, accounts, operators' admin."""

from django.contrib import admin
from django.urls import include, path

from config.health import health

urlpatterns = [
    path("health", health),
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
    path("api/v1/", include("marketplace.api.urls")),
    path("", include("marketplace.web.urls")),
]
handler403 = "marketplace.web.errors.forbidden"
handler404 = "marketplace.web.errors.not_found"
handler500 = "marketplace.web.errors.server_error"
