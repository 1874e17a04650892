"""The C of the kernels is standard C wherever the compiler is neither GCC nor Clang."""

import re
import shutil
import subprocess

import pytest
from support import ROOT

KERNELS = ROOT / "lazynet/kernels"
GCC = shutil.which("gcc")
STRICT = ["-std=c11", "-pedantic-errors", "-Werror", "-Wall", "-Wextra", "-Wvla"]
# The functions of a header are not all used in each file; the pragmas are for OpenMP.
STRICT += ["-Wno-unused-function", "-Wno-unknown-pragmas"]


@pytest.mark.skipif(GCC is None, reason="needs gcc")
@pytest.mark.parametrize("source", ["rows.c", "wide.c", "lines.c"])
def test_loops_are_standard_c(source, tmp_path):
    """The loops compile without extensions where the compiler calls itself neither GCC nor Clang.

    Visual C++ is such a compiler.  The system's headers still see GCC.
    """
    copy = shutil.copytree(KERNELS, tmp_path / "kernels")
    for path in [*copy.rglob("*.h"), *copy.glob("*.inc"), *copy.glob("*.c")]:
        path.write_text(re.sub(r"__(GNUC|clang)__", "NO_SUCH_COMPILER", path.read_text()))
    kinds = sorted(path.stem for path in copy.glob("cells/*.h"))
    lists = " ".join(f"DO({kind}, __VA_ARGS__)" for kind in kinds)
    lines = [f'#include "cells/{kind}.h"' for kind in kinds]
    lines += ["#ifndef LAZYNET_FOR_KINDS", f"#define LAZYNET_FOR_KINDS(DO, ...) {lists}", "#endif"]
    (copy / "every_kind.h").write_text("\n".join([*lines, ""]))
    command = [GCC, *STRICT, "-fsyntax-only", f"-I{copy}", str(copy / source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
