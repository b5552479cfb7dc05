"""`make demo`: the whole loop on real data, through HTTP as users would, every claim checked."""
