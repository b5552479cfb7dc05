"""The default test suite: SQLite in a temporary file, or what DATABASE_URL names; no service, no file outside a temporary folder."""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("HYDRA_VAR", tempfile.mkdtemp(prefix="hydra-test-"))

from config import env
from config.settings.base import *  # noqa: F403
from config.settings.base import STORAGES, VAR

DEBUG = False
SECRET_KEY = "only-for-tests-0123456789-abcdefghijklmnopqrstuvwxyz"
HYDRA_LEDGER_SALT = "only-for-tests"
ALLOWED_HOSTS = ["*"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
DATABASES = {"default": env.read_database("DATABASE_URL", Path(VAR) / "test.sqlite3")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, not memory: threads of a test then wait for each other as the processes of a deployment do.
    DATABASES["default"]["TEST"] = {"NAME": str(Path(VAR) / "test.sqlite3")}
    DATABASES["default"]["OPTIONS"]["init_command"] = "PRAGMA journal_mode=WAL;PRAGMA synchronous=OFF;"
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
STATICFILES_DIRS = []
(Path(VAR) / "static").mkdir(parents=True, exist_ok=True)  # whitenoise warns where it is missing
CELERY_BROKER_URL = env.read_text("BROKER_URL", "memory://")
CELERY_TASK_ALWAYS_EAGER = False
HYDRA_OPEN_REGISTRATION_API = True
LOGGING = {"version": 1, "disable_existing_loggers": False, "root": {"level": "WARNING"}}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
