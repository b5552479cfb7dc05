"""Whether a server process would understand its settings and reach what they name: `python -m config.preflight [--broker]`.

Run by the supervisor before anything is started. Says what is wrong in one line and exits with 1.
"""

import argparse
import os
import sys


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m config.preflight", description=__doc__)
    parser.add_argument(
        "--broker", action="store_true", help="the broker is somebody else's: it has to answer now"
    )
    options = parser.parse_args(argv)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
    fault = find_fault(with_broker=options.broker)
    if fault:
        print(fault, file=sys.stderr)
    return 1 if fault else 0


def find_fault(*, with_broker: bool) -> str:
    """Returns the first fault in words, or "" where there is none."""
    from config.env import SettingError

    try:
        import django

        django.setup()
    except SettingError as error:
        return str(error)
    except ImportError as error:
        return f"DJANGO_SETTINGS_MODULE is {os.environ['DJANGO_SETTINGS_MODULE']!r}, which cannot be loaded: {error}"
    except OSError as error:
        return f"HYDRA_VAR cannot be used: {error}"
    return database_fault() or (broker_fault() if with_broker else "")


def database_fault() -> str:
    from django.db import DatabaseError, connection

    try:
        connection.ensure_connection()
    except DatabaseError as error:
        return f"The database (DATABASE_URL) cannot be reached: {' '.join(str(error).split())}"
    return ""


def broker_fault() -> str:
    from kombu import Connection
    from kombu.exceptions import OperationalError

    from config.celery import app

    try:
        with Connection(
            app.conf.broker_url, connect_timeout=3, transport_options={"socket_connect_timeout": 3}
        ) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=5)
    except (OperationalError, OSError) as error:
        return f"The broker (BROKER_URL) cannot be reached: {error}"
    return ""


if __name__ == "__main__":
    raise SystemExit(main())
