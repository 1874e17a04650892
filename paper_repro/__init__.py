"""Reruns of the published timings; ``python -m paper_repro`` prints both."""
