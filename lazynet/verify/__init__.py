"""Lazy against dense: the tolerance, the twin that carries it, and the comparison on user data."""
