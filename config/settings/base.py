"""What every deployment shares; local, test and production say where they differ.

Nothing is read from a file: the environment is the only source (config.env), so that `make run`, a
container and systemd give settings in the same way.
"""

from pathlib import Path

from config import env

ROOT = Path(__file__).resolve().parents[2]
VAR = env.read_path("HYDRA_VAR", ROOT / "var")

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "django_htmx",
    "ledger",
    "marketplace",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DATABASES = {"default": env.read_database("DATABASE_URL", VAR / "hydra.sqlite3")}
# Rate limits must count the same in every web process; the table is made by `manage.py createcachetable`.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "shared_cache"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "marketplace.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_REDIRECT_URL = "/"
LOGIN_URL = "account_login"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_UNIQUE_EMAIL = True
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_SESSION_REMEMBER = True
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
DEFAULT_FROM_EMAIL = "Hydra <no-reply@localhost>"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True
LOCALE_PATHS = [ROOT / "locale"]

STATIC_URL = "/static/"
STATIC_ROOT = VAR / "static"
NODE_MODULES = ROOT / "node_modules"
STATICFILES_DIRS = [
    ("vendor/bootstrap", NODE_MODULES / "bootstrap" / "dist"),
    ("vendor/bootstrap-icons", NODE_MODULES / "bootstrap-icons" / "font"),
    ("vendor/chart.js", NODE_MODULES / "chart.js" / "dist"),
    ("vendor/htmx", NODE_MODULES / "htmx.org" / "dist"),
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
MEDIA_ROOT = env.read_path("HYDRA_MEDIA", VAR / "media")
MEDIA_URL = "/media/"  # nothing is served from here by URL: views check who asks
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 2**20
DATA_UPLOAD_MAX_NUMBER_FILES = 200
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 2**20
HYDRA_MAX_FILE_BYTES = env.read_int("HYDRA_MAX_FILE_BYTES", 256 * 2**20, low=1, high=2**40)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "marketplace.api.auth.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["marketplace.api.auth.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "marketplace.api.errors.handle_exception",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    # Per client address: doors that hand out accounts and secrets (marketplace.api.throttles).
    "DEFAULT_THROTTLE_RATES": {"register": "30/min", "sign_in": "60/min", "enrol": "60/min"},
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Hydra API",
    "DESCRIPTION": "Labelled data in, verdicts and rewards out, credits into training jobs.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "CampaignState": "marketplace.models.campaign.Campaign.State",
        "SubmissionState": "marketplace.models.submission.Submission.State",
        "ItemState": "marketplace.models.item.Item.State",
        "ReleaseState": "marketplace.models.release.Release.State",
        "JobState": "marketplace.models.job.Job.State",
        "EvidenceOutcome": "marketplace.models.evidence.Evidence.Outcome",
        "VerdictOutcome": "marketplace.models.verdict.Verdict.Outcome",
        "Decision": ["accepted", "rejected"],
        "JobOutcome": ["completed", "stopped", "failed"],
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "marketplace.api.schema.describe_refusals",
    ],
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:"],
        "object-src": ["'none'"],
        "base-uri": ["'self'"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
    },
    # The operators' admin (unfold, Alpine) evaluates expressions and sets inline styles; it is staff only.
    "EXCLUDE_URL_PREFIXES": ("/admin/",),
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SESSION_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "marketplace.web.errors.csrf_failure"

CELERY_BROKER_URL = env.read_broker("BROKER_URL", "redis://127.0.0.1:6390/0")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A broker that hangs must not hang a page: the row says what is to be done, and the beat sends it again.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 600,
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"
# A tick that is not consumed in time is dropped: the next one does the same work.
CELERY_BEAT_SCHEDULE = {
    name: {"task": f"marketplace.tasks.{task}", "schedule": every_s, "options": {"expires": 2 * every_s}}
    for name, task, every_s in [
        ("apply-settlements", "apply_settlements", 2.0),
        ("advance-jobs", "advance_jobs", 2.0),
        ("requeue-stale", "requeue_stale", 15.0),
        ("forget-answers", "forget_answers", 86_400.0),
    ]
}
# A validation without a sign of life for so long has lost its worker.
HYDRA_VALIDATION_STALE_S = env.read_int("HYDRA_VALIDATION_STALE_S", 20, low=1, high=86_400)

HYDRA_CHAIN_RPC_URL = env.read_text("CHAIN_RPC_URL", "http://127.0.0.1:8546")
HYDRA_CHAIN_ID = env.read_int("CHAIN_ID", 777001, low=1, high=2**53)
HYDRA_CHAIN_DIR = env.read_path("HYDRA_CHAIN_DIR", VAR / "chain")
HYDRA_KEYS_DIR = env.read_path("HYDRA_KEYS_DIR", VAR / "keys")
HYDRA_CHAIN_DURABLE_FILE = env.read_text("CHAIN_DURABLE_FILE", str(HYDRA_CHAIN_DIR / "checkpoint.json"))
HYDRA_CONFIRMATIONS = env.read_int("CHAIN_CONFIRMATIONS", 0, low=0, high=10_000)
HYDRA_BACKBONE_STALE_S = 15

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {
        "handlers": ["console"],
        "level": env.read_choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR")),
    },
}
