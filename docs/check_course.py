"""Check in a browser that the notebooks run on their pages.

    python docs/check_course.py build/docs

Chromium opens each page of ``course.NOTEBOOKS`` and runs all cells: each must give the output that
is stored in the notebook.  Then the solution of each exercise takes the place of its blank, and the
cell must say that the answer is right.  The pictures of the page ``course`` must move by mouse, by
finger and by key.  Each page must fit on a telephone, and ask no other server.  Without Chromium,
or where the site has no Python, nothing is checked, and that is said.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "notebooks")]

from course import NOTEBOOKS  # noqa: E402

import run  # noqa: E402

TELEPHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
SECONDS = 240  # for a notebook, on a machine that has much else to do


class Browser:
    """Chromium without a window, which is told what to do through a pair of pipes."""

    def __init__(self, program: str, profile: str) -> None:
        read, self.to = os.pipe()
        self.back, write = os.pipe()
        switches = (
            "--headless --no-sandbox --disable-gpu --remote-debugging-pipe --no-first-run "
            "--disable-background-networking --mute-audio"
        )
        host = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        # Chromium listens to descriptor 3 and answers on 4.
        shell = f'exec "$0" "$@" 3<&{read} 4>&{write}'
        self.process = subprocess.Popen(
            ["sh", "-c", shell, program, *switches.split(), host, f"--user-data-dir={profile}"],
            pass_fds=(read, write), stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read)
        os.close(write)
        self.number, self.heard = 0, b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = {"sessionId": attached["sessionId"]}
        self.call("Page.enable")

    session: dict[str, str] = {}  # noqa: RUF012

    def call(self, method: str, **parameters: Any) -> Any:
        """The answer to one command."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters, **self.session}
        os.write(self.to, json.dumps(command).encode() + b"\0")
        while True:
            while b"\0" not in self.heard:
                more = os.read(self.back, 1 << 16)
                if not more:
                    raise SystemExit("the browser has ended")
                self.heard += more
            message, _, self.heard = self.heard.partition(b"\0")
            answer = json.loads(message)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, expression: str) -> Any:
        """The value of an expression on the page."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in told:
            raise SystemExit(f"{expression}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def wait(self, expression: str) -> float:
        """Wait until an expression is true; the seconds that it took."""
        begun = time.perf_counter()
        while not self.value(expression):
            if time.perf_counter() > begun + SECONDS:
                raise SystemExit(f"not true after {SECONDS} s: {expression}")
            time.sleep(0.05)
        return time.perf_counter() - begun


def check(browser: Browser, address: str, name: str) -> list[str]:
    """What is wrong with the page of one notebook."""
    notebook = run.nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    browser.call("Page.navigate", url=f"{address}/notebooks/{name}.html?run")
    begun = time.perf_counter()
    browser.wait("!!window.book && book.cells.some(cell => cell.outputs.length)")
    first = time.perf_counter() - begun
    browser.wait("!book.busy")
    found = []
    if (got := browser.value("book.cells.length")) != len(cells):
        return [f"{name} has {len(cells)} cells with code, and its page {got}"]
    answers = json.loads(browser.value("JSON.stringify(book.cells.map(cell => cell.outputs))"))
    for number, (cell, outputs) in enumerate(zip(cells, answers, strict=True), 1):
        if "measured" not in cell.metadata.get("tags", []):
            found += differences(f"{name}, cell {number}", cell, outputs)
    if browser.value("book.cells.some(cell => cell.state !== 'done')"):
        states = browser.value("book.cells.map(cell => cell.state + ': ' + cell.output.innerText)")
        found.append(f"{name}: not all cells have run: {states}")
    exercises = [place for place, cell in enumerate(cells) if run.BLANK.search(cell.source)]
    for place, source in zip(exercises, run.solutions(notebook), strict=True):
        found += wrong_solution(browser, name, place, source)
    seconds = time.perf_counter() - begun
    found += too_wide(browser, name)
    kind = "has its stored output" if not found else "was run"
    print(
        f"{name}: first output {first:.1f} s after opening; each of {len(cells)} cells {kind}, "
        f"{len(exercises)} solutions; {seconds:.0f} s", flush=True,
    )  # fmt: skip
    return found


def differences(where: str, cell: Any, outputs: list[dict[str, str]]) -> list[str]:
    """How the outputs on a page differ from the outputs in a notebook."""
    stored = [
        output.get("text") or output.data["image/svg+xml"] + output.data["text/plain"]
        for output in cell.outputs
    ]
    shown = [each.get("text") or each["svg"] + each["words"] for each in outputs]
    if len(stored) == len(shown) and all(map(run.alike, stored, shown)):
        return []
    short = [[text[:2_000] for text in texts] for texts in (stored, shown)]
    return [f"{where} stores\n{short[0]}\n  and shows\n{short[1]}"]


def wrong_solution(browser: Browser, name: str, place: int, source: str) -> list[str]:
    """Type a solution into a cell and press Run: what is wrong with what it prints."""
    cell = f"book.cells[{place}]"
    browser.value(f"{cell}.code.focus(); getSelection().selectAllChildren({cell}.code)")
    browser.call("Input.insertText", text=source)
    browser.value(f"{cell}.button.click()")
    browser.wait("!book.busy")
    printed = "".join(each.get("text", "") for each in browser.value(f"{cell}.outputs"))
    if printed.splitlines()[-1:] == [run.RIGHT]:
        return []
    return [f"{name}, cell {place + 1}: the solution\n{source}\n  gives\n{printed}"]


def too_wide(browser: Browser, name: str) -> list[str]:
    """Whether a page is wider than a telephone."""
    browser.call("Emulation.setDeviceMetricsOverride", **TELEPHONE)
    width = browser.value("document.documentElement.scrollWidth")
    browser.call("Emulation.clearDeviceMetricsOverride")
    return [f"{name} is {width} px wide"] if width > TELEPHONE["width"] else []


def still_pictures(browser: Browser, address: str) -> list[str]:
    """Drag each handle of the pictures in three ways: the ways in which one does not move."""
    browser.call("Page.navigate", url=f"{address}/course.html")
    handles = "[...document.querySelectorAll('.course-handle')]"
    browser.wait(f"{handles}.length === 3 && {handles}.every(each => each.ariaValueText)")
    found = too_wide(browser, "course")
    for number in range(3):
        handle = f"{handles}[{number}]"
        browser.value(f"{handle}.scrollIntoView({{ block: 'center' }})")
        for way in (by_mouse, by_finger, by_key):
            box = f"JSON.stringify({handle}.lastChild.getBoundingClientRect())"
            place = json.loads(browser.value(box))
            before = browser.value(f"{handle}.ariaValueText")
            browser.value(f"{handle}.focus()")
            way(browser, place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
            if browser.value(f"{handle}.ariaValueText") == before:
                found.append(f"handle {number} of the pictures does not move {way.__name__}")
    return found


def by_mouse(browser: Browser, x: float, y: float) -> None:
    """Press, move, release."""
    for kind, by in (("mousePressed", 0), ("mouseMoved", 40), ("mouseReleased", 40)):
        place = dict(x=x + by, y=y + by, button="left", buttons=1, clickCount=1)
        browser.call("Input.dispatchMouseEvent", type=kind, **place)


def by_finger(browser: Browser, x: float, y: float) -> None:
    """Touch, move, let go."""
    for kind, by in (("touchStart", 0), ("touchMove", -30), ("touchMove", -50), ("touchEnd", None)):
        points = [] if by is None else [dict(x=x + by, y=y + by)]
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)


def by_key(browser: Browser, x: float, y: float) -> None:
    """Press the arrow down."""
    for kind in ("keyDown", "keyUp"):
        code = dict(key="ArrowDown", code="ArrowDown", windowsVirtualKeyCode=40)
        browser.call("Input.dispatchKeyEvent", type=kind, **code)


def main(site: Path) -> int:
    """Print what is wrong; whether anything is."""
    contents = json.loads((site / "_static" / "course" / "contents.json").read_text("utf-8"))
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if contents["version"] is None or program is None:
        missing = "the site was built without npm" if program else "there is no Chromium"
        print(f"The notebooks were not run on their pages: {missing}.")
        return 0
    handler = functools.partial(Quiet, directory=str(site))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            address = f"http://127.0.0.1:{server.server_port}"
            found = still_pictures(browser, address)
            found += [each for name in NOTEBOOKS for each in check(browser, address, name)]
        finally:
            browser.process.terminate()
            browser.process.wait()
    print(*found, sep="\n", file=sys.stderr)
    return bool(found)


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that does not report every request."""

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
