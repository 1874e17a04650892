"""Lazy weights against dense weights: tolerance, dense reference, comparison on the user's data."""
