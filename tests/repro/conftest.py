"""The studies are in a checkout alone, and need the packages of the extra ``repro``."""

from importlib.util import find_spec

NEEDED = ["benchmarks", "lxml", "matplotlib", "paper_repro", "tqdm"]
# pytest collects no test of this folder where one of them is missing.
collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_*.py"]
