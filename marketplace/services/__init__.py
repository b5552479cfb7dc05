"""Use cases that cross models or reach the ledger: one module each, called by pages, the API and tasks.

Each raises `marketplace.errors.MarketError` for what the caller did, and leaves no half-done change behind.
"""
