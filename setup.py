"""Builds the kernels.  Everything else is in pyproject.toml.

LAZYNET_DEBUG=1              bounds checks on, no optimisation
LAZYNET_SANITIZE=address,undefined  sanitizers (run Python with their libraries preloaded, as make
                             test-sanitized does); the first report ends the process
LAZYNET_LEVEL=_v3            the vector level of a debug build: none by default, _v3 or _v4
LAZYNET_LEVELS=native        only the vector levels that this machine has (on Linux), as make setup
                             does; LAZYNET_LEVELS=1: only the lowest; all by default.  Modules of
                             other levels from an earlier build stay, and are used
LAZYNET_OPTIMISE=0           modules that are compiled anew are not optimised: a test of a build
LAZYNET_ANNOTATE=1           also write the annotated HTML of every kernel
"""

import os
import platform
import runpy
import sys
from pathlib import Path

from Cython.Build import cythonize
from Cython.Tempita import Template
from setuptools import Extension, setup

DEBUG = os.environ.get("LAZYNET_DEBUG", "") not in ("", "0")
SANITIZE = os.environ.get("LAZYNET_SANITIZE", "")
LEVEL = os.environ.get("LAZYNET_LEVEL", "") if DEBUG else ""
OPTIMISE = os.environ.get("LAZYNET_OPTIMISE", "1") != "0"
ANNOTATE = os.environ.get("LAZYNET_ANNOTATE", "") not in ("", "0")
KERNELS = Path("lazynet/kernels")
# Builds of different kinds never share an object file.
KIND = "-".join(filter(None, ["debug" + LEVEL if DEBUG else "", *SANITIZE.split(",")])) or "release"
BUILD_BASE = f"build/{KIND}"
GENERATED = Path(BUILD_BASE) / "generated"
# Cython's own code, of memoryviews above all, is compiled once in a module that all others share.
SHARED = "lazynet.kernels._shared"
# These are compiled once per level of vector units; lanes.h says what a level changes.  The level
# is chosen at run time.
LEVELS = {"": [], "_v3": ["-mbmi", "-mbmi2", "-mfma", "-mavx2"]}
LEVELS["_v4"] = [*LEVELS["_v3"], "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq"]
LEVELS["_v4"] += ["-mavx512vl"]
CPUINFO, CHOSEN = Path("/proc/cpuinfo"), os.environ.get("LAZYNET_LEVELS", "")
if CHOSEN not in ("", "1", "native"):
    raise SystemExit(f"LAZYNET_LEVELS must be '1' or 'native', got {CHOSEN!r}")
if DEBUG or platform.machine() not in ("x86_64", "AMD64"):
    LEVELS = {"": LEVELS[LEVEL]}
elif CHOSEN == "1":
    LEVELS = {"": []}
elif CHOSEN == "native" and CPUINFO.exists():
    # A machine that has the last unit of a level has all of them.
    units = {f"-m{unit}" for unit in CPUINFO.read_text().split()}
    LEVELS = {level: flags for level, flags in LEVELS.items() if not flags or flags[-1] in units}
# The cells of several outputs are doubles or floats.
CELLS = {"": ["-DLAZYNET_REAL=64"], "_f32": ["-DLAZYNET_REAL=32"]}
VARIANTS = {
    "one_output_loop": {
        level: [*flags, "-mprefer-vector-width=256"] if flags else flags
        for level, flags in LEVELS.items()
    },
    "many_outputs_loop": {
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
GCC_ARGS += ["-O0", "-g", "-DLAZYNET_DEBUG=1"] if DEBUG else ["-g0"]
# Loops over nonzeros, features or text gain from -O3.  Modules that only check arguments compile
# faster with -O1.  All others have -O2.
LOOPS = ["columns", "dual", "gram", "newton", "one_output_loop", "many_outputs_loop", "row_loops"]
LOOPS += ["compact", "dense_rows", "model", "moments", "slopes", "sums", "text", "working_set"]
CHECKS = ["_shared", "arrays", "many_outputs"]
OPTIMISATION = {**dict.fromkeys(LOOPS, "-O3"), **dict.fromkeys(CHECKS, "-O1")}
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


def flags_of(stem: str, suffix: str = "") -> list[str]:
    """The arguments for the compiler of a module, or of one of its variants."""
    return [
        *GCC_ARGS,
        *([] if DEBUG or SANITIZE else [OPTIMISATION.get(stem, "-O2") if OPTIMISE else "-O0"]),
        *(SCALAR if stem == "dense" else []),
        *(ONE_FUNCTION if stem in VARIANTS else []),
        *VARIANTS.get(stem, {}).get(suffix, []),
    ]


def extension(name: str, source: Path | str, flags: list[str], **options: list[str]) -> Extension:
    """The extension module of one source."""
    return Extension(
        f"lazynet.kernels.{name}",
        [str(source)],
        include_dirs=[str(KERNELS)],
        extra_compile_args=flags,
        extra_link_args=SANITIZE_ARGS,
        **options,
    )


def modules() -> list[Extension]:
    """The extension module of every .pyx file, and of Cython's shared code."""
    headers = [str(path) for path in KERNELS.glob("*.h")]
    return [
        extension("_shared", f"{SHARED.replace('.', '/')}.c", flags_of("_shared")),
        *(
            extension(source.stem, source, flags_of(source.stem), depends=headers)
            for source in sorted(KERNELS.glob("*.pyx"))
        ),
    ]


def variants(module: Extension) -> list[Extension]:
    """The modules that compile the C source of ``module`` again, with other flags."""
    stem, [converted] = module.name.split(".")[-1], module.sources
    found = []
    for suffix in VARIANTS.get(stem, {}):
        if suffix:
            source, path = GENERATED / f"{stem}{suffix}.c", os.path.relpath(converted, GENERATED)
            if not source.exists():
                rename = f"#define PyInit_{stem} PyInit_{stem}{suffix}"
                source.write_text(f'{rename}\n#include "{path}"\n')
            depends = [*module.depends, converted]
            found.append(extension(stem + suffix, source, flags_of(stem, suffix), depends=depends))
    return found


def write_branches() -> None:
    """Fill the rules of table.py into the templates that the kernels include."""
    rules = list(runpy.run_path(str(KERNELS / "table.py"))["RULES"].values())
    lists = {
        "rules": rules,
        "cells": [rule for rule in rules if not rule.on_clock],
        "measuring": [rule for rule in rules if rule.measures],
        "several": [rule for rule in rules if rule.lanes],
        "several_cells": [rule for rule in rules if rule.lanes and not rule.on_clock],
    }
    GENERATED.mkdir(parents=True, exist_ok=True)
    for template in (KERNELS / "branches").glob("*.pxi.in"):
        text, path = Template(template.read_text()).substitute(lists), GENERATED / template.stem
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


JOBS = os.cpu_count() or 1
OPTIONS = {
    "build": {"build_base": BUILD_BASE},
    "build_ext": {"parallel": JOBS},
    "sdist": {"template": ".manifest.in"},
}

write_branches()
MODULES = cythonize(
    modules(),
    include_path=[".", str(GENERATED)],
    compiler_directives=DIRECTIVES,
    shared_utility_qualified_name=SHARED,
    annotate=ANNOTATE,
    build_dir=f"{BUILD_BASE}/cython",
    # Where processes are not forked, each would run this file again.
    nthreads=JOBS if sys.platform == "linux" and JOBS > 1 else 0,
)

setup(
    ext_modules=[*MODULES, *(variant for module in MODULES for variant in variants(module))],
    options=OPTIONS,
)
