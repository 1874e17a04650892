"""Check the built site: it asks no other server, and the search knows the words of its readers.

python docs/check_built.py build/docs
"""

import re
import sys
from pathlib import Path

from sphinx.search.en import SearchEnglish

TAG = re.compile(r"<(?:script|link|img|iframe|source|object|embed)\b[^>]*>")
ELSEWHERE = re.compile(r"(?:src|href|data)=[\"']?(?:https?:)?//")
IMPORT = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//")
NAMES = ("warm_start", "partial_fit", "duality_gap_")
WORDS = """imbalance out-of-core calibration early stopping multiclass multilabel warm start
    hyperparameter streaming categorical hashing feature importance reproducible mini-batch
    text classification regularisation overfitting scaling checkpoint"""


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
    search = SearchEnglish({})
    words = [search.stem(word) for word in search.split(WORDS) if search.word_filter(word)]
    found += [
        f"the search does not know {word}"
        for word in (*NAMES, *words)
        if not re.search(rf'\b"?{word}"?:', index)
    ]
    if len(pages) < 50:
        found.append(f"there are only {len(pages)} pages")
    print(
        *found or [f"{len(pages)} pages, none asks another server: {site / 'index.html'}"], sep="\n"
    )
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
