"""What people type, turned into the drafts that services take."""
