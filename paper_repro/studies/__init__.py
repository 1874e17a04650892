"""The studies: NAME.py and NAME.md each; a new study is two new files and a line here."""

from __future__ import annotations

from paper_repro.studies.accuracy import Accuracy
from paper_repro.studies.averaging import Averaging
from paper_repro.studies.bench import Bench
from paper_repro.studies.corpus import CorpusShape
from paper_repro.studies.crossover import Crossover
from paper_repro.studies.scaling import Scaling
from paper_repro.studies.stability import Stability
from paper_repro.studies.table import Table
from paper_repro.study import Study

#: In the order in which they run.
STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        CorpusShape(),
        Table(),
        Crossover(),
        Scaling(),
        Accuracy(),
        Averaging(),
        Stability(),
        Bench(),
    )
}
