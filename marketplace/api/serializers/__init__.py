"""What the API reads and shows, one file per resource."""
