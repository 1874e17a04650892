"""Files from the network, each checked: the PubMed baseline by the MD5 sums beside its files."""

from __future__ import annotations

import hashlib
import http.client
import re
import ssl
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
_SMALL = 1 << 24
# Statuses after which a later try may succeed.
_TEMPORARY = (408, 429, 500, 502, 503, 504)


class DownloadFailed(RuntimeError):
    """A download failed; the message names the file and the remedy."""


class _Lost(Exception):
    """The connection broke; the bytes received so far are good."""


# The errors of a broken connection.
_BROKEN = (
    _Lost,
    http.client.HTTPException,
    urllib.error.URLError,
    ConnectionError,
    ssl.SSLError,
)


def download(
    n: int,
    folder: str | Path,
    base_url: str = NLM_BASELINE,
    *,
    tries: int = 5,
    pause: float = 2.0,
    timeout: float = 60.0,
) -> list[Path]:
    """The first ``n`` files of the baseline in ``folder``; files that are missing are fetched.

    An interrupted download leaves NAME.part and is resumed by the next call.  A connection that
    breaks is tried ``tries`` times, after growing pauses that start at ``pause`` seconds.
    """
    if n < 1:
        raise ValueError(f"the number of files must be at least 1, got {n}")
    site = _site(base_url, tries, pause, timeout)
    names = sorted(set(_LISTED.findall(site.text(""))))[:n]
    if not names:
        raise DownloadFailed(
            f"{site.base_url} lists no file with a name like pubmed25n0001.xml.gz; "
            f"is it the address of a folder of the baseline?"
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [_ensure(site, folder, name) for name in names]


@dataclass(frozen=True)
class Known:
    """A file whose SHA-256 sum is known before it is fetched."""

    name: str
    sha256: str
    #: its name at its site
    there: str


def download_known(
    files: Iterable[Known],
    folder: str | Path,
    base_url: str,
    *,
    tries: int = 5,
    pause: float = 2.0,
    timeout: float = 60.0,
) -> list[Path]:
    """These files in ``folder``; a file that is there with the right sum is not fetched."""
    site = _site(base_url, tries, pause, timeout)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _with_sum(site, file.there, folder / file.name, "SHA-256", file.sha256, _sha256)
        for file in files
    ]


def _site(base_url: str, tries: int, pause: float, timeout: float) -> _Site:
    if urlsplit(base_url).scheme not in ("http", "https"):
        raise ValueError(f"only http and https addresses are read, got {base_url!r}")
    return _Site(base_url if base_url.endswith("/") else f"{base_url}/", tries, pause, timeout)


def _ensure(site: _Site, folder: Path, name: str) -> Path:
    """The path of a file whose MD5 sum is the one that the site gives."""
    listed = _MD5.search(site.text(f"{name}.md5").lower())
    if listed is None:
        raise DownloadFailed(f"{site.base_url}{name}.md5 holds no MD5 sum; try again later")
    return _with_sum(site, name, folder / name, "MD5", listed.group(), _md5)


def _with_sum(
    site: _Site, name: str, path: Path, kind: str, wanted: str, sum_of: Callable[[Path], str]
) -> Path:
    """The path of a file that has this sum; ``name`` is its name at the site."""
    part = path.with_name(f"{path.name}.part")
    if path.exists() and sum_of(path) == wanted:
        return path
    # A part that is complete already, or was of another year's file of this name, counts as a try.
    for _ in range(2):
        if not (part.exists() and sum_of(part) == wanted):
            site.fetch(name, part)
        if sum_of(part) == wanted:
            part.replace(path)
            return path
        part.unlink()
    raise DownloadFailed(
        f"{path}: what comes from {site.base_url}{name} twice did not have the {kind} sum "
        f"{wanted}; the file may be being replaced there: try again later, or another mirror"
    )


def _md5(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Site:
    """A folder on a web server."""

    def __init__(self, base_url: str, tries: int, pause: float, timeout: float) -> None:
        self.base_url, self.tries, self.pause, self.timeout = base_url, tries, pause, timeout
        # Not build_opener(): it would follow a server to ftp addresses.
        self.opener = urllib.request.OpenerDirector()
        for handler in (
            urllib.request.ProxyHandler,
            urllib.request.HTTPHandler,
            urllib.request.HTTPSHandler,
            urllib.request.HTTPDefaultErrorHandler,
            urllib.request.HTTPRedirectHandler,
            urllib.request.HTTPErrorProcessor,
            urllib.request.UnknownHandler,
        ):
            self.opener.add_handler(handler())

    def text(self, name: str) -> str:
        """The text of a small file."""

        def read() -> str:
            with self._open(name) as response:
                return response.read(_SMALL).decode("utf-8", "replace")

        return self._patiently(name, read)

    def fetch(self, name: str, part: Path) -> None:
        """Fetch a large file from the byte at which ``part`` ends."""
        self._patiently(name, lambda: self._continue(name, part))

    def _continue(self, name: str, part: Path) -> None:
        have = part.stat().st_size if part.exists() else 0
        response = self._open_at(name, have)
        with response:
            resumed = response.status == 206
            have = have if resumed else 0
            length = response.headers.get("Content-Length")
            total = have + int(length) if length else None
            with (
                open(part, "ab" if resumed else "wb") as file,
                tqdm(
                    total=total,
                    initial=have,
                    desc=name,
                    unit="B",
                    unit_scale=True,
                    leave=False,
                    disable=None,
                ) as bar,
            ):
                while block := response.read(_BLOCK):
                    file.write(block)
                    bar.update(len(block))
                    have += len(block)
        # A connection that is closed early looks like the end of the file.
        if total is not None and have < total:
            raise _Lost(f"the connection broke after {have:,} of {total:,} bytes")

    def _open_at(self, name: str, offset: int) -> Any:
        """Open a file at a byte, or at the beginning where the server does not resume."""
        try:
            response = self._open(name, offset)
        except urllib.error.HTTPError as error:
            # 416: the part is longer than the file.
            if error.code != 416 or not offset:
                raise
            return self._open(name)
        there = response.headers.get("Content-Range", "")
        if response.status == 206 and not there.startswith(f"bytes {offset}-"):
            response.close()
            return self._open(name)
        return response

    def _open(self, name: str, offset: int = 0) -> Any:
        request = urllib.request.Request(urljoin(self.base_url, name))
        if offset:
            request.add_header("Range", f"bytes={offset}-")
        return self.opener.open(request, timeout=self.timeout)

    def _patiently(self, name: str, attempt: Any) -> Any:
        """Repeat the attempt after broken connections, with growing pauses; returns its result."""
        pauses = [self.pause * 2**i for i in range(self.tries - 1)]
        for pause in [*pauses, None]:
            try:
                return attempt()
            except urllib.error.HTTPError as error:
                problem, hopeless = f"{error.code} {error.reason}", error.code not in _TEMPORARY
            except TimeoutError:
                problem, hopeless = f"no answer for {self.timeout:g} seconds", False
            # Not every OSError: a full disk is one, and waiting does not help.
            except _BROKEN as error:
                problem, hopeless = str(getattr(error, "reason", error)), False
            if hopeless or pause is None:
                break
            time.sleep(pause)
        raise DownloadFailed(
            f"{self.base_url}{name}: {problem}; look at the address and the connection and start "
            f"again: what has come so far is kept"
        )
