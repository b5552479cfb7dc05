"""Programs that measure Hydra as ratios against a peer or a limit in the same run. They report; they do not judge."""
