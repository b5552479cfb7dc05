"""Training together: pure planning and judging (planning, voting), the sums (exchange), and thin runners around them.

Knows replicas of a model only as a vector to average and a state to copy; recipes and torch are above.
"""
