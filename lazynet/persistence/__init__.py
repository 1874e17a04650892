"""Models in files: the container format, models, and checkpoints."""
