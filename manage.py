#!/usr/bin/env python3
"""Django's command line for the embedded stack's settings unless DJANGO_SETTINGS_MODULE says otherwise."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
