"""Training: settings, plan, epochs, stopping, grids."""
