"""What the study ``optimum`` found: who arrived and when, and the bounds that should hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import geometric_mean, median
from typing import Any

from paper_repro.ladders import Ladder, Run
from paper_repro.minima import LOGISTIC
from paper_repro.score import significant
from paper_repro.solvers import OURS, PEERS
from paper_repro.solvers.celer_solvers import CELER
from paper_repro.solvers.scikit_learn import LIBLINEAR, SAGA
from paper_repro.solvers.skglm_solvers import COORDINATES, PROX_NEWTON
from paper_repro.studies.optimum import CORPUS, LEVELS, POINTS, WEAK, Question, by_rows_key, shown
from paper_repro.study import Measured

SKGLM = (PROX_NEWTON, COORDINATES)


#: How far nonzeros at the first level may be from the optimum's, as a share.
MOST_EXCESS = 0.02


@dataclass(frozen=True)
class Ratio:
    """How many times longer another program takes; a lower bound where it has not arrived."""

    value: float
    bound: bool = False


@dataclass(frozen=True)
class Summary:
    """Ratios of several problems in one number, with their range; a lower bound or a number."""

    value: float
    least: float
    most: float
    count: int
    #: How many of them are lower bounds, because the other program was stopped.
    stopped: int = 0

    def __str__(self) -> str:
        text = f"{'> ' if self.stopped else ''}{significant(self.value)}"
        text += f" ({significant(self.least)} - {significant(self.most)}; {self.count}"
        return text + (f", {self.stopped} stopped)" if self.stopped else ")")


class Race(Measured):
    """Who arrived, and when."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.setting = self.records["setting"]
        self.races = {
            Question.of(parts, group == "weak"): record
            for group in ("race", "weak")
            for parts, record in self.group(group)
        }

    def seconds(self, asked: Question, name: str, level: float) -> float | None:
        """The median time at which a program arrived, or None if it did not."""
        found = self.races[asked]["seconds"][f"{level:g}"].get(name)
        return median(found) if found else None

    def ladder(self, asked: Question, name: str) -> Ladder | None:
        record = self.races[asked]["ladders"].get(name)
        return None if record is None else Ladder.of(record)

    def gap(self, asked: Question, objective: float) -> float:
        """What is left, in units of the objective at zero weights."""
        record = self.races[asked]
        return float((objective - record["least"]) / record["at zero"])

    def ratio(self, asked: Question, names: Sequence[str], level: float) -> Ratio | None:
        """The quickest of several programs against ours, or None if none of them ran."""
        ran = {name: ladder for name in names if (ladder := self.ladder(asked, name))}
        ours = self.seconds(asked, OURS.name, level)
        if not ran:
            return None
        if ours is None:
            return Ratio(0.0)
        arrived = [taken for name in ran if (taken := self.seconds(asked, name, level))]
        if arrived:
            return Ratio(min(arrived) / ours)
        waited = min(ladder.waited() for ladder in ran.values())
        return Ratio(waited / ours, bound=True)

    def of(self, name: str, loss: str) -> list[Question]:
        """The questions on a set of rows with a loss, but for the weak penalty."""
        return [
            asked
            for asked in self.races
            if (asked.rows, asked.loss) == (name, loss) and not asked.weak
        ]

    def left(self, asked: Question) -> float:
        """How far below the least objective the minimum may be, as the certificates say."""
        return max(0.0, -self.gap(asked, self.races[asked]["lower"]))

    def shown_ladders(self, multiple: float) -> dict[str, Ladder]:
        """The runs of all programs on a problem of the figure."""
        records = {
            **self.races[shown(multiple)]["ladders"],
            **self.records.get(by_rows_key(multiple), {}),
        }
        return {name: Ladder.of(record) for name, record in records.items()}

    def at_level(self, asked: Question) -> Run | None:
        """Our run at the first level, or None if it did not end."""
        ladder = self.ladder(asked, OURS.name)
        return ladder.at(LEVELS[0]) if ladder else None

    def excess(self, asked: Question) -> float | None:
        """How far our nonzeros at the first level are from the optimum's, as a share."""
        run, optimum = self.at_level(asked), self.races[asked]["nonzeros"]
        return abs(run.nonzeros / optimum - 1) if run and optimum else None

    def excesses(self) -> dict[Question, float]:
        """The same of every problem with an l1 where our run ended."""
        return {
            asked: excess
            for asked in self.races
            if asked.l1 and (excess := self.excess(asked)) is not None
        }

    def paths(self) -> dict[str, float]:
        """How many times longer a path takes than one fit, by set."""
        return {
            name: median(a / b for a, b in zip(record["path"], record["fit"], strict=True))
            for [name], record in self.group("path")
            if "skipped" not in record
        }


# A program that is stopped after 100 times our time has waited 100 times as long, up to the clock.
_ROUNDED = 0.999


@dataclass(frozen=True)
class Line:
    """A line of the table of bounds: what is summed up, and the bound that it should keep."""

    label: str
    bound: float
    #: "geometric mean", "worst", or "greatest" for what should be small
    summary: str
    values: Callable[[Race], list[Ratio]] = field(repr=False)

    @property
    def at_most(self) -> bool:
        return self.summary == "greatest"

    @property
    def expected(self) -> str:
        return f"{'<=' if self.at_most else '>='} {significant(self.bound, 2)}"

    def measured(self, race: Race) -> Summary | None:
        found = self.values(race)
        if not found:
            return None
        return summed_up(self.summary, found)

    def verdict(self, race: Race) -> str:
        """``holds`` or ``MISSED``; nothing where nothing was measured.

        A lower bound that is too low decides nothing: the other program was stopped too early.
        Where some lower bounds are too low, the problems that decide are counted.
        """
        found = self.measured(race)
        if found is None:
            return ""
        holds = found.value <= self.bound if self.at_most else found.value >= self.bound
        if not holds and found.stopped and found.least > 0:
            low = [ratio for ratio in self.values(race) if ratio.value < _ROUNDED * self.bound]
            missed = sum(not ratio.bound for ratio in low)
            early = len(low) - missed
            if missed:
                told = f"MISSED on {missed} of {found.count}"
                return f"{told}, stopped too early to tell on {early}" if early else told
            return "stopped too early to tell"
        return "holds" if holds else "MISSED"


def summed_up(how: str, ratios: Sequence[Ratio]) -> Summary:
    """Ratios by their geometric mean, by the worst one or by the greatest one, and their range."""
    numbers = [each.value for each in ratios]
    stopped = sum(each.bound for each in ratios)
    return Summary(_SUMMARIES[how](numbers), min(numbers), max(numbers), len(numbers), stopped)


def _geometric_mean(values: Sequence[float]) -> float:
    return geometric_mean(values) if min(values) > 0 else 0.0


_SUMMARIES: dict[str, Callable[[Sequence[float]], float]] = {
    "geometric mean": _geometric_mean,
    "worst": lambda values: min(values),
    "greatest": lambda values: max(values),
}


def _against(
    names: Sequence[str],
    level: float,
    which: Callable[[Question], bool],
    weak: bool = False,
) -> Callable[[Race], list[Ratio]]:
    def values(race: Race) -> list[Ratio]:
        return [
            ratio
            for asked in race.races
            if asked.loss == LOGISTIC and asked.weak == weak and which(asked)
            if (ratio := race.ratio(asked, names, level)) is not None
        ]

    return values


def on_corpus(asked: Question) -> bool:
    return asked.rows == CORPUS


def _nonzeros(race: Race) -> list[Ratio]:
    return [Ratio(excess) for excess in race.excesses().values()]


def _lines() -> Iterator[Line]:
    first, second = LEVELS
    for level, bound in ((first, 10.0), (second, 25.0)):
        yield Line(
            f"skglm / lazynet, elastic net, corpus, at {level:g}",
            bound,
            "geometric mean",
            _against(SKGLM, level, lambda asked: on_corpus(asked) and asked.mixed),
        )
        yield Line(
            f"the same where l1 = l2 = {WEAK:g}",
            bound,
            "geometric mean",
            _against(SKGLM, level, on_corpus, weak=True),
        )
    yield Line(
        f"scikit-learn saga / lazynet, elastic net, corpus, at {first:g}",
        100.0,
        "geometric mean",
        _against((SAGA,), first, lambda asked: on_corpus(asked) and asked.mixed),
    )
    yield Line(
        f"liblinear / lazynet, l1, corpus, at {first:g}",
        1.0,
        "geometric mean",
        _against((LIBLINEAR,), first, lambda asked: on_corpus(asked) and asked.lasso),
    )
    for names, label, kind, mean, worst in (
        ((LIBLINEAR,), "liblinear / lazynet, l1", "lasso", 1.0, 1 / 3),
        (SKGLM, "skglm / lazynet, elastic net", "mixed", 3.0, 1.0),
    ):
        values = _against(
            names,
            first,
            lambda asked, kind=kind: not on_corpus(asked) and getattr(asked, kind),  # type: ignore[misc]
        )
        yield Line(f"{label}, real files, at {first:g}", mean, "geometric mean", values)
        yield Line(f"{label}, real files, at {first:g}", worst, "worst", values)
    yield Line("nonzeros, difference from the optimum's", MOST_EXCESS, "greatest", _nonzeros)
    yield Line(
        f"a path of {POINTS} points / one fit at its smallest penalty",
        6.0,
        "greatest",
        lambda race: [Ratio(value) for value in race.paths().values()],
    )


LINES = tuple(_lines())
#: The columns of the tables: a program, or the quicker one of several programs of a library.
COLUMNS: dict[str, Sequence[str]] = {
    LIBLINEAR: (LIBLINEAR,),
    "skglm": SKGLM,
    CELER: (CELER,),
    **{name: (name,) for name in PEERS if name.startswith("scikit-learn")},
}
