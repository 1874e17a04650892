"""``lazynet inspect``: what a model has learned, in the terminal."""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from lazynet.command.literals import count_from
from lazynet.command.output import as_json
from lazynet.command.plots import curve
from lazynet.models import files as model_files

EXAMPLES = """\
examples:
  Parameters, sparsity, the heaviest features, and the training as a curve:
    lazynet inspect model.lazy

  The thirty heaviest features of one class, with names from a file of one name a line:
    lazynet inspect model.lazy --top 30 --class 3 --names words.txt

  The two heaviest features of each of the first hundred of many labels:
    lazynet inspect model.lazy --top 2 --outputs 100

A feature without a name is shown by its number in the file: from 0 or from 1, as in the rows that
the model has learned from.  The name of column 0, or of column 1, stands on the first line.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model that train or save has written")
    parser.add_argument("--top", type=count_from(0), default=10, metavar="N",
                        help="features of every output (default: 10)")  # fmt: skip
    parser.add_argument("--outputs", type=count_from(1), default=10, metavar="N",
                        help="show the features of the first N outputs (default: 10; --json has "
                        "all)")  # fmt: skip
    parser.add_argument("--class", dest="label", metavar="LABEL", help="this class or label alone")
    parser.add_argument("--names", metavar="FILE", help="the names of the features, one a line")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(options: argparse.Namespace) -> int:
    """Show the model; returns the exit code."""
    # The estimators load SciPy and scikit-learn, which takes a moment.
    from lazynet.loading import load

    model = load(options.model)
    note = model_files.note_of(options.model)
    names = _names(options.names, model, note)
    outputs = {
        label: _heaviest(row, options.top, names, int(note.get("base") or 0))
        for label, row in _outputs(model, options.label)
    }
    rows = _rows(model)
    history = list(getattr(model, "history_", []))
    found: dict[str, Any] = {
        "model": options.model, "estimator": repr(model),
        "features": int(model.n_features_in_), "outputs": rows.shape[0],
        "nonzeros": int(rows.nnz), "nonzero_share": rows.nnz / (rows.shape[0] * rows.shape[1]),
        "classes": None if not hasattr(model, "classes_") else model.classes_.tolist(),
        "intercept": model._intercepts().tolist(), "l1": getattr(model, "l1_", None),
        "passes": getattr(model, "n_iter_", None), "steps": getattr(model, "t_", None),
        "read_as": note, "heaviest": {str(label): pairs for label, pairs in outputs.items()},
        "history": history,
    }  # fmt: skip
    if options.json:
        print(as_json(found))
        return 0
    print(found["estimator"])
    print(f"{rows.nnz:,} of {rows.shape[0] * rows.shape[1]:,} weights are not 0 "
          f"({found['nonzero_share']:.2%})")  # fmt: skip
    if found["classes"] is not None:
        shown = ", ".join(map(_word, found["classes"][:20]))
        print(f"classes {shown}{', ...' * (len(found['classes']) > 20)}")
    if found["l1"] is not None:
        print(f"l1 {found['l1']:.4g}")
    if found["steps"] is not None:
        print(f"{found['steps']:,} steps in {found['passes']} passes")
    for label, pairs in islice(outputs.items(), options.outputs):
        print(f"\nheaviest features{'' if label is None else f' of {label}'}")
        wide = max((len(name) for name, _ in pairs), default=0)
        for name, weight in pairs:
            print(f"  {name:>{wide}}  {weight:+.5g}")
    if len(outputs) > options.outputs:
        print(f"\n... and {len(outputs) - options.outputs:,} of {len(outputs):,} outputs more: "
              "--outputs N shows the first N, --class LABEL shows one")  # fmt: skip
    _show(history)
    return 0


def _rows(model: Any) -> sparse.csr_matrix:
    """The weights, a row an output, those that are 0 left out."""
    rows = sparse.csr_matrix(model.sparsify().coef_, copy=True)
    rows.eliminate_zeros()
    return rows


def _outputs(model: Any, label: str | None) -> list[tuple[Any, sparse.csr_matrix]]:
    """The rows of weights with the labels that they predict."""
    rows = _rows(model)
    classes = getattr(model, "classes_", None)
    if rows.shape[0] == 1 and (classes is None or len(classes) == 2):
        if label is not None and (classes is None or label not in map(_word, classes)):
            raise ValueError(f"--class: the model does not know {label!r}")
        if classes is None:
            return [(None, rows)]
        negative = label is not None and label == _word(classes[0])
        return [(_word(classes[0 if negative else 1]), -rows if negative else rows)]
    names = [_word(c) for c in classes] if classes is not None else [
        f"output {k}" for k in range(rows.shape[0])
    ]  # fmt: skip
    if label is not None:
        if label not in names:
            raise ValueError(f"--class: the model does not know {label!r}; it knows "
                             f"{', '.join(names[:20])}")  # fmt: skip
        names, rows = [label], rows[names.index(label)]
        return [(label, rows)]
    return [(name, rows[k]) for k, name in enumerate(names)]


def _word(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


def _names(path: str | None, model: Any, note: dict[str, Any]) -> list[str] | None:
    if path is not None:
        found = Path(path).read_text(encoding="utf-8").splitlines()
        if len(found) < model.n_features_in_:
            raise ValueError(f"--names: {path} has {len(found)} lines, and the model has "
                             f"{model.n_features_in_} features")  # fmt: skip
        return found
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    columns = note.get("columns")
    return columns.split(",") if isinstance(columns, str) else None


def _heaviest(
    row: sparse.csr_matrix, top: int, names: list[str] | None, base: int
) -> list[tuple[str, float]]:
    order = np.argsort(-np.abs(row.data), kind="stable")[:top]
    return [
        (str(j + base) if names is None else names[j], weight)
        for j, weight in zip(row.indices[order].tolist(), row.data[order].tolist(), strict=True)
    ]


def _show(history: list[Any]) -> None:
    """The loss of each pass as a curve."""
    for name, what in (("progressive_loss", "progressive loss"), ("gap", "duality gap")):
        losses = [line[name] for line in history if name in line]
        if len(losses) > 1:
            print(f"\n{what} of {len(losses)} passes")
            for line in curve(losses):
                print(f"  {line}")
        elif losses:
            print(f"\n{what} of 1 pass: {losses[0]:.6g}")
