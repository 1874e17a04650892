"""Small changes of the sources, one at a time, and the tests that notice them."""
