"""The engines, one file an engine: arrays that hold weights, and a kernel that trains them."""
