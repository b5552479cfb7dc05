"""The public API, version 1: JSON in and out under /api/v1/.

Views parse, ask one service or selector, and render. What a request may see is in `visibility`; who may call at
all is in `auth`; every refusal leaves through `errors`.
"""
