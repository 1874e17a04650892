"""Check the built site: it asks no other server, and the search knows the words of the API.

python docs/check_built.py build/docs
"""

import re
import sys
from pathlib import Path

TAG = re.compile(r"<(?:script|link|img|iframe|source|object|embed)\b[^>]*>")
ELSEWHERE = re.compile(r"(?:src|href|data)=[\"']?(?:https?:)?//")
IMPORT = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//")
WORDS = ("warm_start", "partial_fit", "duality_gap_")


def main(site: Path) -> int:
    """Print what is wrong; the number of complaints, at most 1, is the exit status."""
    pages = sorted(site.rglob("*.html"))
    found = [
        f"{page}: {tag}"
        for page in pages
        for tag in TAG.findall(page.read_text(encoding="utf-8"))
        if ELSEWHERE.search(tag)
    ]
    for sheet in site.rglob("*.css"):
        found += [f"{sheet}: {each}" for each in IMPORT.findall(sheet.read_text(encoding="utf-8"))]
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    found += [f"the search does not know {word}" for word in WORDS if f'"{word}"' not in index]
    if len(pages) < 50:
        found.append(f"there are only {len(pages)} pages")
    print(
        *found or [f"{len(pages)} pages, none asks another server: {site / 'index.html'}"], sep="\n"
    )
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
