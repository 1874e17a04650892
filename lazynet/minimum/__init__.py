"""The certified minimum: objective, solvers, certificate."""
