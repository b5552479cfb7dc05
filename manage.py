#!/usr/bin/env python3
"""Django's command line for the embedded stack's settings unless DJANGO_SETTINGS_MODULE says otherwise."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
    from django.core.management import execute_from_command_line

    from config.celery import app
    from config.env import SettingError

    app.set_default()  # commands that enqueue work use its broker
    try:
        execute_from_command_line(sys.argv)
    except SettingError as error:
        sys.exit(f"hydra: {error}")


if __name__ == "__main__":
    main()
