"""``python -m benchmarks build``: processor seconds to build each module, without a compiler cache.

The modules are built one after another in a copy, with the flags of setup.py and those of the
environment (CC, LAZYNET_DEBUG ...).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import runpy
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parent.parent
KERNELS = "lazynet/kernels"
#: Processor seconds of all modules together, which are the goal on two cores of an AMD EPYC.
BOUND = 120.0


def build(folder: Path) -> dict[str, list[float]]:
    """Seconds of Cython and of the C compiler by module, of the setup.py in a folder."""
    from Cython.Build import Dependencies
    from setuptools.command.build_ext import build_ext

    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    to_c, to_module = Dependencies.cythonize_one, build_ext.build_extension

    def cython(source: str, *arguments: Any) -> None:
        began = sum(os.times()[:2])
        to_c(source, *arguments)
        found[Path(source).stem][0] += sum(os.times()[:2]) - began

    def compiler(command: Any, module: Any) -> None:
        began = sum(os.times()[2:4])
        to_module(command, module)
        found[module.name.split(".")[-1]][1] += sum(os.times()[2:4]) - began

    with (
        contextlib.chdir(folder),
        patch.dict(os.environ, CCACHE_DISABLE="1"),
        patch.object(os, "cpu_count", lambda: 1),
        patch.object(sys, "argv", ["setup.py", "--quiet", "build_ext"]),
        patch.object(Dependencies, "cythonize_one", cython),
        patch.object(build_ext, "build_extension", compiler),
    ):
        runpy.run_path("setup.py", run_name="__main__")
    return dict(found)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks build", description=__doc__)
    parser.add_argument("--of", type=Path, default=ROOT, help="another checkout than this one")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as copy:
        sources = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
        shutil.copytree(options.of / KERNELS, Path(copy) / KERNELS, ignore=sources)
        shutil.copy(options.of / "setup.py", copy)
        found = build(Path(copy))
    print(f"{'seconds':24} {'Cython':>7} {'C compiler':>11}")
    for module, (cython, compiler) in sorted(found.items(), key=lambda each: -sum(each[1])):
        print(f"{module:24} {cython:7.2f} {compiler:11.2f}")
    each = [sum(seconds) for seconds in zip(*found.values(), strict=True)]
    print(f"{'all':24} {each[0]:7.2f} {each[1]:11.2f}")
    print(f"together {sum(each):.1f}, goal {BOUND:g}")
    return 0
