"""Builds the kernels.  Everything else is in pyproject.toml.

LAZYNET_DEBUG=1              bounds checks on, no optimisation
LAZYNET_SANITIZE=address,undefined  sanitizers (run Python with their libraries preloaded, as make
                             test-sanitized does); the first report ends the process
LAZYNET_LEVEL=_v3            the vector level of a debug build: none by default, _v3 or _v4
LAZYNET_ANNOTATE=1           also write the annotated HTML of every kernel
"""

import os
import platform
import shutil
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("LAZYNET_DEBUG", "") not in ("", "0")
SANITIZE = os.environ.get("LAZYNET_SANITIZE", "")
LEVEL = os.environ.get("LAZYNET_LEVEL", "") if DEBUG else ""
ANNOTATE = os.environ.get("LAZYNET_ANNOTATE", "") not in ("", "0")
KERNELS = Path("lazynet/kernels")
# Builds of different kinds never share an object file.
KIND = "-".join(filter(None, ["debug" + LEVEL if DEBUG else "", *SANITIZE.split(",")])) or "release"
BUILD_BASE = f"build/{KIND}"
GENERATED = Path(BUILD_BASE) / "generated"
HEADERS = sorted(path for path in KERNELS.glob("*.h"))
# Cython's own code, of memoryviews above all, is compiled once in a module that all others share.
SHARED = "lazynet.kernels._shared"
# These are compiled once per level of vector units; lanes.h says what a level changes.  The level
# is chosen at run time.
LEVELS = {"": [], "_v3": ["-mavx2", "-mbmi", "-mbmi2", "-mfma"]}
LEVELS["_v4"] = [*LEVELS["_v3"], "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq"]
LEVELS["_v4"] += ["-mavx512vl"]
if DEBUG or platform.machine() not in ("x86_64", "AMD64"):
    LEVELS = {"": LEVELS[LEVEL]}
# The cells of several outputs are doubles or floats.
CELLS = {"": ["-DLAZYNET_REAL=64"], "_f32": ["-DLAZYNET_REAL=32"]}
VARIANTS = {
    "online": {
        level: [*flags, "-mprefer-vector-width=256"] if flags else flags
        for level, flags in LEVELS.items()
    },
    "online_outputs": {
        level + cells: [*of_level, *of_cells]
        for level, of_level in LEVELS.items()
        for cells, of_cells in CELLS.items()
    },
    "row_loops": LEVELS,
}

# A row gives the same bits wherever it lies in memory (see lanes.h): no fused multiply-adds, and no
# other liberty with floating point.  -fno-trapping-math changes no number: the compiler may compute
# what a condition then discards, and without it most loops with a condition are vectorised for
# AVX-512 alone.
# GCC and Clang are needed, because lanes.h uses their vector types: on Windows, Clang or MinGW.
GCC_ARGS = ["-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
GCC_ARGS += ["-fvisibility=hidden"]
GCC_ARGS += ["-O0", "-g", "-DLAZYNET_DEBUG=1"] if DEBUG else ["-O2", "-g0"]
# The modules with loops over nonzeros, features or text; -O2 compiles the others faster.
LOOPS = {
    "columns",
    "dual",
    "examples",
    "gram",
    "newton",
    "online",
    "online_outputs",
    "row_loops",
    "steps",
    "sums",
    "text",
}
# The rules are part of the loop: a call for eight nonzeros would cost as much as they do.
ONE_FUNCTION = ["-DCYTHON_INLINE=inline __attribute__((always_inline, unused))"]
# The dense engine without vector units, to measure what these are worth.
SCALAR = ["-fno-tree-vectorize", "-fno-tree-slp-vectorize"]
SANITIZE_ARGS = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
if SANITIZE:
    GCC_ARGS += [
        *SANITIZE_ARGS,
        "-fno-sanitize-recover=all",
        "-fno-omit-frame-pointer",
        "-g",
        "-O1",
    ]

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


def extension(source: Path, suffix: str, flags: list[str]) -> Extension:
    """The extension module of one .pyx file, or of a copy of it for other flags."""
    stem = source.stem
    if suffix:
        copy = GENERATED / f"{source.stem}{suffix}.pyx"
        # A new copy is compiled; Cython does not see what the copy takes from .pxd files.
        used = [source, *KERNELS.glob("**/*.pxd")]
        newest = max(path.stat().st_mtime for path in used)
        if not copy.exists() or copy.stat().st_mtime < newest:
            GENERATED.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
        source = copy
    flags = [
        *(["-O3"] if stem in LOOPS and not (DEBUG or SANITIZE) else []),
        *(SCALAR if stem == "dense" else []),
        *(ONE_FUNCTION if stem in VARIANTS else []),
        *flags,
    ]
    return Extension(
        f"lazynet.kernels.{source.stem}",
        [str(source)],
        include_dirs=[str(KERNELS)],
        depends=[str(path) for path in HEADERS],
        extra_compile_args=[*GCC_ARGS, *flags],
        extra_link_args=SANITIZE_ARGS,
    )


def extensions() -> list[Extension]:
    """The extension module of every .pyx file, of some in several variants."""
    return [
        extension(source, suffix, flags)
        for source in sorted(KERNELS.glob("*.pyx"))
        for suffix, flags in VARIANTS.get(source.stem, {"": []}).items()
    ]


OPTIONS = {
    "build": {"build_base": BUILD_BASE},
    "build_ext": {"parallel": os.cpu_count() or 1},
    "sdist": {"template": ".manifest.in"},
}

setup(
    ext_modules=cythonize(
        [
            Extension(
                SHARED,
                [f"{SHARED.replace('.', '/')}.c"],
                extra_compile_args=GCC_ARGS,
                extra_link_args=SANITIZE_ARGS,
            ),
            *extensions(),
        ],
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=SHARED,
        annotate=ANNOTATE,
        build_dir=f"{BUILD_BASE}/cython",
    ),
    options=OPTIONS,
)
