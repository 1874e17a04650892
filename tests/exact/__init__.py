"""Exactness: lazy learners have the weights of dense ones, and references follow the papers."""
