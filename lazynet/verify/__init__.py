"""Lazy weights against dense weights: tolerance, dense twin, comparison on the user's data."""
