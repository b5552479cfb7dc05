"""The ASGI entry point. Loads the Celery application too, so that requests enqueue to its broker."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")

from config.celery import app as celery_app

celery_app.set_default()
application = get_asgi_application()
