"""Safety: no input, interrupt, thread or damaged file breaks a model, a kernel or a result."""
