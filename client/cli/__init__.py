"""The `hydra` command: one module per group of subcommands, over the SDK."""

from client.cli.main import main

__all__ = ["main"]
