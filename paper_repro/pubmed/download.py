"""Files from the network, each checked: the PubMed baseline by the MD5 sums beside its files."""

from __future__ import annotations

import hashlib
import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from tqdm import tqdm

NLM_BASELINE = "https://ftp.ncbi.nlm.nih.gov/pubmed/baseline/"

# A plain file name: no other text from the server becomes a path.
_LISTED = re.compile(r"""href=["'](pubmed\d{2}n\d{4}\.xml\.gz)["']""", re.ASCII)
_MD5 = re.compile(r"\b[0-9a-f]{32}\b")
_BLOCK = 1 << 16
# Times that a broken connection is tried, and seconds of no answer after which it is broken.
_TRIES, _TIMEOUT = 5, 60.0


class DownloadFailed(RuntimeError):
    """A download failed; the message names the file and the remedy."""


@dataclass(frozen=True)
class Known:
    """A file whose SHA-256 sum is known before it is fetched."""

    name: str
    sha256: str
    #: its name at its site
    there: str


def download(
    n: int, folder: str | Path, base_url: str = NLM_BASELINE, *, pause: float = 2.0
) -> list[Path]:
    """The first ``n`` files of the baseline in ``folder``; files that are missing are fetched.

    A connection that breaks is tried again after ``pause`` seconds, then after twice as many.
    """
    if n < 1:
        raise ValueError(f"the number of files must be at least 1, got {n}")
    site = _Site(base_url, pause)
    names = sorted(set(_LISTED.findall(site.text(""))))[:n]
    if not names:
        raise DownloadFailed(
            f"{site.url} lists no file with a name like pubmed25n0001.xml.gz; "
            f"is it the address of a folder of the baseline?"
        )
    paths = []
    for name in names:
        listed = _MD5.search(site.text(f"{name}.md5").lower())
        if listed is None:
            raise DownloadFailed(f"{site.url}{name}.md5 holds no MD5 sum; try again later")
        paths.append(_with_sum(site, name, Path(folder) / name, "md5", listed.group()))
    return paths


def download_known(
    files: Iterable[Known], folder: str | Path, base_url: str, *, pause: float = 2.0
) -> list[Path]:
    """These files in ``folder``; a file that is there with the right sum is not fetched."""
    site = _Site(base_url, pause)
    return [
        _with_sum(site, file.there, Path(folder) / file.name, "sha256", file.sha256)
        for file in files
    ]


def _with_sum(site: _Site, name: str, path: Path, kind: str, wanted: str) -> Path:
    """The path of a file that has this sum; ``name`` is its name at the site."""
    if path.exists() and _sum_of(path, kind) == wanted:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    site.fetch(name, part)
    if _sum_of(part, kind) != wanted:
        part.unlink()
        raise DownloadFailed(
            f"{path}: what comes from {site.url}{name} does not have the {kind} sum {wanted}; "
            f"the file may be being replaced there: try again later, or another mirror"
        )
    return part.replace(path)


def _sum_of(path: Path, kind: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


class _Site:
    """A folder on a web server."""

    def __init__(self, url: str, pause: float) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"only http and https addresses are read, got {url!r}")
        self.url, self.pause = url if url.endswith("/") else f"{url}/", pause

    def text(self, name: str) -> str:
        """The text of a small file."""
        return self._patiently(name, lambda response: response.read().decode("utf-8", "replace"))

    def fetch(self, name: str, path: Path) -> None:
        """Fetch a large file to ``path``."""

        def copy(response: Any) -> None:
            total = int(response.headers.get("Content-Length") or 0)
            with (
                open(path, "wb") as file,
                tqdm(
                    total=total, desc=name, unit="B", unit_scale=True, leave=False, disable=None
                ) as bar,
            ):
                while block := response.read(_BLOCK):
                    file.write(block)
                    bar.update(len(block))
                # A connection that is closed early looks like the end of the file.
                if file.tell() < total:
                    raise ConnectionError(f"it broke after {file.tell():,} of {total:,} bytes")

        self._patiently(name, copy)

    def _patiently(self, name: str, use: Callable[[Any], Any]) -> Any:
        """What ``use`` makes of the answer; broken connections are tried again."""
        for attempt in range(_TRIES):
            try:
                with urllib.request.urlopen(urljoin(self.url, name), timeout=_TIMEOUT) as response:
                    return use(response)
            except urllib.error.HTTPError as error:
                problem = f"{error.code} {error.reason}"
                if error.code < 500:
                    break
            # Not every OSError: a full disk is one, and waiting does not help.
            except (
                urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError
            ) as error:  # fmt: skip
                problem = str(error)
            if attempt < _TRIES - 1:
                time.sleep(self.pause * 2**attempt)
        raise DownloadFailed(
            f"{self.url}{name}: {problem}; look at the address and the connection and start again: "
            f"the files before it are kept"
        )
