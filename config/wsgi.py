"""The WSGI entry point. Loads the Celery application too, so that requests enqueue to its broker."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")

from config.celery import app as celery_app

celery_app.set_default()
application = get_wsgi_application()
