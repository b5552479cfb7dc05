"""The platform's own peer: runs the market's jobs with whoever is there, one at a time, and survives its own death."""
