"""Reruns the published timings; ``python -m paper_repro`` prints them beside ours."""
