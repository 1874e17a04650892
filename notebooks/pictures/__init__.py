"""The drawings of single notebooks: one module for each notebook that has drawings of its own."""
