"""Reads for pages, the API and services: what may be seen by whom, and lists that cost a fixed number of queries."""
