"""The engines: arrays that hold weights and a kernel that trains them, one file an engine."""
