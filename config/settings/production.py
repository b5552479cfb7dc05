"""A public deployment: every secret and host comes from the environment, cookies travel over HTTPS only."""

from config import env
from config.settings.base import *  # noqa: F403

DEBUG = False
SECRET_KEY = env.read_text("SECRET_KEY")
HYDRA_LEDGER_SALT = env.read_text("LEDGER_SALT")
ALLOWED_HOSTS = env.read_list("ALLOWED_HOSTS")
if not ALLOWED_HOSTS:
    raise env.SettingError("ALLOWED_HOSTS", None, "the public host names, separated by commas")
CSRF_TRUSTED_ORIGINS = env.read_list("CSRF_TRUSTED_ORIGINS")
SECURE_SSL_REDIRECT = env.read_bool("SECURE_SSL_REDIRECT", True)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = env.read_int("SECURE_HSTS_SECONDS", 31_536_000, low=0, high=10**9)
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_HOST = env.read_text("EMAIL_HOST", "localhost")
EMAIL_PORT = env.read_int("EMAIL_PORT", 25, low=1, high=65535)
DEFAULT_FROM_EMAIL = env.read_text("DEFAULT_FROM_EMAIL", "Hydra <no-reply@localhost>")
HYDRA_OPEN_REGISTRATION_API = env.read_bool("HYDRA_OPEN_REGISTRATION_API", False)
