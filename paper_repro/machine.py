"""What a study was measured on: processor, caches, versions, and the commit of the code."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import lazynet
from lazynet.data.source import physical_bytes

PACKAGES = ("numpy", "scipy", "scikit-learn", "lazynet-linear")
_HERE = Path(__file__).parent
#: The sources of the studies, as git names them.
SOURCES = ("paper_repro/*.py", "benchmarks/*.py")


def provenance() -> dict[str, Any]:
    """Everything about machine and code that decides a measurement, as JSON can hold it."""
    return {
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "memory_gb": None if (memory := physical_bytes()) is None else round(memory / 1e9),
            "caches": _caches(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {
            "Python": platform.python_version(),
            **{name: version_of(name) for name in PACKAGES},
        },
        "commit": _git("rev-parse", "HEAD") or "unknown",
        "modified": bool(_git("status", "--porcelain", "--", "lazynet", *SOURCES)),
        "code": _fingerprint(),
    }


def describe_machine(document: Mapping[str, Any]) -> str:
    """The machine and the versions of a document in one line."""
    machine, versions = document["machine"], document["versions"]
    packages = ", ".join(f"{name} {number}" for name, number in versions.items())
    caches = "".join(f", {name} {size}" for name, size in machine["caches"].items())
    memory = f", {machine['memory_gb']} GB" if machine["memory_gb"] else ""
    return (
        f"{machine['processor']}, {machine['cores']} cores{caches}{memory}, "
        f"{machine['system']}; {packages}; commit {document['commit'][:10]}"
        + (" with changes" if document["modified"] else "")
    )


def processor() -> str:
    return value_in("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()


def memory_shortage(needed: int) -> str | None:
    """A message where the machine has fewer than ``needed`` bytes of memory, else None."""
    there = physical_bytes()
    if there is None or there >= needed:
        return None
    return f"{needed / 1e9:.2g} GB of memory needed, and the machine has {there / 1e9:.2g} GB"


def value_in(path: str, name: str) -> str | None:
    """The value behind a name and a colon in one of Linux's files, or None."""
    try:
        for line in Path(path).read_text().splitlines():
            if line.startswith(name):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return None


def _caches() -> dict[str, str]:
    """Sizes of the first core's data caches, where Linux gives them."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = (
                (folder / name).read_text().strip() for name in ("level", "type", "size")
            )
        except OSError:
            continue
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def version_of(name: str) -> str:
    """The version of an installed package; "not installed" if there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return lazynet.__version__ if name == "lazynet-linear" else "not installed"


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=_HERE.parent, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _fingerprint() -> str:
    """A digest of the sources and compiled modules of the studies and of lazynet."""
    digest = hashlib.sha256()
    for folder in (_HERE, _HERE.parent / "benchmarks", _HERE.parent / "lazynet"):
        for path in sorted(folder.rglob("*")):
            if path.suffix in {".py", ".pyx", ".pxd", ".h", ".so", ".pyd"}:
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
