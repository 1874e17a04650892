"""Builds the kernels.  Everything else is in pyproject.toml.

LAZYNET_DEBUG=1              bounds checks on, no optimisation
LAZYNET_SANITIZE=address,undefined  sanitizers (run Python with their libraries preloaded, as make
                             test-sanitized does); the first report ends the process
LAZYNET_ANNOTATE=1           also write the annotated HTML of every kernel
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("LAZYNET_DEBUG", "") not in ("", "0")
SANITIZE = os.environ.get("LAZYNET_SANITIZE", "")
ANNOTATE = os.environ.get("LAZYNET_ANNOTATE", "") not in ("", "0")
KERNELS = Path("lazynet/kernels")
#: C files that are linked into an extension module.
COMPANIONS = {"examples": ["rows.c"]}
HEADERS = sorted([*KERNELS.glob("*.h"), *KERNELS.glob("*.inc")])
# Builds of different kinds never share an object file.
BUILD_BASE = "build/" + ("debug" if DEBUG else SANITIZE.replace(",", "-") or "release")

# -ffp-contract=off: a row gives the same bits wherever it lies in memory (see rows.h).
compile_args, link_args = [], []
if sys.platform != "win32":
    compile_args = ["-std=c11", "-fopenmp-simd", "-ffp-contract=off", "-fno-math-errno"]
    compile_args += ["-fvisibility=hidden"]
    compile_args += ["-O0", "-g", "-DLAZYNET_DEBUG=1"] if DEBUG else ["-O3"]
if SANITIZE:
    compile_args += [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all"]
    compile_args += ["-fno-omit-frame-pointer", "-g", "-O1"]
    link_args += [f"-fsanitize={SANITIZE}"]

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "wraparound": False,
    "cdivision": True,
    "embedsignature": True,
    "embedsignature.format": "clinic",
    "allow_none_for_extension_args": False,
}

setup(
    ext_modules=cythonize(
        [
            Extension(
                f"lazynet.kernels.{source.stem}",
                [str(source), *(str(KERNELS / name) for name in COMPANIONS.get(source.stem, []))],
                depends=[str(path) for path in HEADERS],
                extra_compile_args=compile_args,
                extra_link_args=link_args,
            )
            for source in sorted(KERNELS.glob("*.pyx"))
        ],
        compiler_directives=DIRECTIVES,
        annotate=ANNOTATE,
        build_dir=f"{BUILD_BASE}/cython",
    ),
    options={
        "build": {"build_base": BUILD_BASE},
        "build_ext": {"parallel": os.cpu_count() or 1},
        "sdist": {"template": ".manifest.in"},
    },
)
