"""The views, one file per resource."""
