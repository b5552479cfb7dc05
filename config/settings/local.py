"""The embedded stack of `make run` and `make demo`: one machine, its own keys, state under var/."""

from config import env
from config.secrets import load_or_create
from config.settings.base import *  # noqa: F403
from config.settings.base import VAR

DEBUG = env.read_bool("DEBUG", False)
ALLOWED_HOSTS = [*env.read_list("ALLOWED_HOSTS"), "localhost", "127.0.0.1", "[::1]"]
SECRET_KEY = load_or_create(VAR / "keys" / "django-secret")
HYDRA_LEDGER_SALT = load_or_create(VAR / "keys" / "ledger-salt")
EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
EMAIL_FILE_PATH = VAR / "mail"
HYDRA_OPEN_REGISTRATION_API = True
