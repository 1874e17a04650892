"""Documentation: what the pages and notebooks tell people to write does what they say."""
