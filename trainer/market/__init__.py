"""The market as the network sees it: a client of its HTTP API, an outbox for when it is away, a fake for tests."""

from trainer.market.api import Enrolment, Market

__all__ = ["Enrolment", "Market"]
