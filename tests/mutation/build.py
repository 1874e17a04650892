"""Build the kernels in the current folder whose sources are newer: ``python build.py``.

Only the first vector level is built, with less optimisation.  The bits are those of any build.
"""

import os
import re
import runpy

import setuptools


def main():
    """Run setup.py of the folder with other extensions and flags."""
    given, setup = {}, setuptools.setup
    setuptools.setup = lambda **options: given.update(options)
    os.environ["LAZYNET_LEVELS"] = "1"
    runpy.run_path("setup.py")
    for each in given["ext_modules"]:
        flags = [re.sub("^-O[23]$", "-O1", flag) for flag in each.extra_compile_args]
        each.extra_compile_args = flags
    options = {**given["options"], "build_ext": {"parallel": 1}}
    setup(
        ext_modules=given["ext_modules"],
        options=options,
        script_args=["-q", "build_ext", "--inplace"],
    )


if __name__ == "__main__":
    main()
