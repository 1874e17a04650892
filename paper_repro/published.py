"""What the five texts print: numbers in the printed units, figures and claims."""

from __future__ import annotations

from dataclasses import dataclass

FEATURES = 260_941
NONZEROS = 88.54
#: Features divided by nonzeros per example: the ratio that sparsity alone could yield.
IDEAL = FEATURES / NONZEROS


@dataclass(frozen=True)
class Published:
    """Seconds per example of one rule in one version of the paper; None where none is printed."""

    lazy: float
    sparse_predictions: float
    dense: float | None

    @property
    def dense_ratio(self) -> float | None:
        return None if self.dense is None else self.dense / self.lazy

    @property
    def sparse_ratio(self) -> float:
        return self.sparse_predictions / self.lazy


#: By tier and rule.  The early text stores examples as dictionaries; it says 612.2 where its two
#: rates give 613.4.  arXiv:1505.06449v3 stores examples as rows of SciPy matrices.
PUBLISHED: dict[tuple[str, str], Published] = {
    ("dicts", "fobos"): Published(1 / 1893, 1 / 3.086, None),
    ("scipy", "sgd"): Published(0.0102, 14.381, 21.377),
    ("scipy", "fobos"): Published(0.0120, 16.785, 22.511),
}

#: What the early text says of its two rates, whose quotient is another number.
STATED_EARLY_RATIO = 612.2
#: What version 3 says of its ratios, with all predictions and with sparse ones.
STATED_RATIO, STATED_SPARSE_RATIO = 2000, 1400
EXAMPLES = 1_000_000
#: Weights of the lazy and of the dense run agree to so many significant figures.
FIGURES = 4
#: Lazy updates win where considerably less than this share of the features is nonzero.
QUARTER = 0.25
#: Floating-point numbers of the tables for each step, of 8 bytes each.
CACHED_FLOATS = 2
#: Dexter as Ma & Zheng used it: rows, features, the share of values that are not zero.
DEXTER_ROWS, DEXTER_FEATURES, DEXTER_DENSITY = 300, 7_751, 0.0048
#: Data sets and orders of the rows in their comparison, and the span of the nonzeros of truncated
#: gradient over the last updates in their Figure 1, as a share of all features.
DATA_SETS, ORDERS, UPDATES, OSCILLATION = 5, 50, 1000, 0.10

EARLY, VERSION_3, NOTE = (
    "Lipton & Elkan, early text",
    "Lipton & Elkan, version 3",
    "the note of 2012",
)
DEKEL, MA_ZHENG = "Dekel", "Ma & Zheng"
#: The five texts.
TEXTS = {
    EARLY: "Lipton & Elkan, Efficient Elastic Net Regularization for Sparse Linear Models, early "
    "text",
    VERSION_3: "the same paper, version 3 (arXiv:1505.06449v3)",
    NOTE: 'the note "Sparse Features and L2 Regularization" (2012)',
    DEKEL: "Dekel, Linear Learning with Sparse Data (arXiv:1612.09147)",
    MA_ZHENG: "Ma & Zheng, Stabilized Sparse Online Learning for Sparse Data (arXiv:1604.06498)",
}


@dataclass(frozen=True)
class Printed:
    """A number, a table, a figure or a claim of a text.

    ``number`` is None where the text claims something without a number, or where its numbers are
    lost in the text that was available.
    """

    key: str
    text: str
    #: What it is about.
    what: str
    #: What is printed, in words, with the printed unit.
    printed: str
    number: float | None = None


def _rates() -> list[Printed]:
    """The throughputs of the early text and the six times of version 3."""
    early = PUBLISHED["dicts", "fobos"]
    found = [
        Printed("early lazy", EARLY, "FoBoS, lazy updates", f"{1 / early.lazy:,.0f} examples/s",
                1 / early.lazy),
        Printed("early dense", EARLY, "FoBoS, dense updates with sparse predictions",
                f"{1 / early.sparse_predictions:.4g} examples/s", 1 / early.sparse_predictions),
    ]  # fmt: skip
    for rule, title in (("sgd", "SGD"), ("fobos", "FoBoS")):
        times = PUBLISHED["scipy", rule]
        assert times.dense is not None
        found += [
            Printed(f"{rule} {kind}", VERSION_3, f"{title}, {words}",
                    f"{seconds:.{digits}f} s for an example", seconds)
            for kind, words, seconds, digits in (
                ("lazy", "lazy updates", times.lazy, 4),
                ("dense", "dense updates", times.dense, 3),
                ("sparse", "dense updates with sparse predictions", times.sparse_predictions, 3),
            )
        ]  # fmt: skip
    return found


def _ratios() -> list[Printed]:
    """The quotients of the printed rates and times, and what the texts say of them."""
    early = PUBLISHED["dicts", "fobos"].sparse_ratio
    found = [
        Printed("early ratio", EARLY, "FoBoS, dense with sparse predictions by lazy: the quotient "
                "of the two rates", f"{early:.1f} times", early),
        Printed("early stated", EARLY, "the same, as the text states it",
                f"{STATED_EARLY_RATIO} times", STATED_EARLY_RATIO),
    ]  # fmt: skip
    for rule, title in (("sgd", "SGD"), ("fobos", "FoBoS")):
        times = PUBLISHED["scipy", rule]
        assert times.dense_ratio is not None
        found += [
            Printed(f"{rule} dense ratio", VERSION_3, f"{title}, dense by lazy: the quotient of "
                    "the two times", f"{times.dense_ratio:,.0f} times", times.dense_ratio),
            Printed(f"{rule} sparse ratio", VERSION_3, f"{title}, dense with sparse predictions by "
                    "lazy: the quotient of the two times", f"{times.sparse_ratio:,.0f} times",
                    times.sparse_ratio),
        ]  # fmt: skip
    return [
        *found,
        Printed("stated ratio", VERSION_3, "dense by lazy, as the text states it",
                f"over {STATED_RATIO:,} times", STATED_RATIO),
        Printed("stated sparse ratio", VERSION_3, "dense with sparse predictions by lazy, as the "
                "text states it", f"over {STATED_SPARSE_RATIO:,} times", STATED_SPARSE_RATIO),
    ]  # fmt: skip


#: Everything that the five texts print, text by text.
ENTRIES: tuple[Printed, ...] = (
    Printed("real corpus", EARLY, "the corpus: abstracts in Medline, bags of words",
            "abstracts of biomedical articles"),
    Printed("examples", EARLY, "examples of the corpus", f"{EXAMPLES:,}", EXAMPLES),
    Printed("features", EARLY, "features of the corpus", f"{FEATURES:,}", FEATURES),
    Printed("nonzeros", EARLY, "nonzeros of an example, on average", f"{NONZEROS}", NONZEROS),
    Printed("ideal", EARLY, "features by nonzeros: what sparsity alone could yield",
            f"{IDEAL:,.0f}", IDEAL),
    *(each for each in (*_rates(), *_ratios()) if each.text == EARLY),
    Printed("figures", EARLY, "agreement of lazy and dense weights on synthetic data",
            f"{FIGURES} significant figures", FIGURES),
    Printed("quarter", EARLY, "lazy updates win tremendously where considerably less than a share "
            "of the features is nonzero", "one quarter", QUARTER),
    Printed("constant time", EARLY, "a missed stretch of updates costs constant time, an example "
            "its nonzeros", "no dependence on the number of features"),
    Printed("caches", EARLY, "what the tables hold for each step",
            f"{CACHED_FLOATS} floating-point numbers", CACHED_FLOATS),
    Printed("theorem 1", EARLY, "Theorem 1, the closed form for SGD with an elastic net",
            "exact"),
    Printed("theorem 2 early", EARLY, "Theorem 2, the closed form for FoBoS", "exact"),
    Printed("rates early", EARLY, "eta = 1 / t and eta = 1 / sqrt(t) have an infinite sum and a "
            "finite sum of squares", "both"),
    Printed("accuracy early", EARLY, "error of a model on test rows", "nothing printed"),
    *(each for each in (*_rates(), *_ratios()) if each.text == VERSION_3),
    Printed("theorem 1 again", VERSION_3, "Theorem 1, unchanged", "exact"),
    Printed("theorem 2", VERSION_3, "Theorem 2, mended", "exact"),
    Printed("rates", VERSION_3, "eta = 1 / sqrt(t) has a finite sum of squares", "as before"),
    Printed("accuracy", VERSION_3, "error of a model on test rows", "nothing printed"),
    Printed("rescaling", NOTE, "an l2 penalty by rescaling: the update of the stored weights",
            "divided by (1 - eta) c"),
    Printed("note times", NOTE, "times, errors", "nothing printed"),
    Printed("cost n", DEKEL, "T steps on rows of k nonzeros cost O(n + T k): against n",
            "n is added once"),
    Printed("cost T", DEKEL, "the same, against T", "in proportion to T"),
    Printed("cost k", DEKEL, "the same, against k", "in proportion to k"),
    Printed("cost naive", DEKEL, "naive averaging and centering cost O(T n)", "in proportion to n"),
    Printed("translation", DEKEL, "CASGD is invariant to a translation of the rows", "invariant"),
    Printed("Dekel's algorithms", DEKEL, "Algorithms 2 and 3", "exact"),
    Printed("Dekel's times", DEKEL, "times, errors",
            "nothing printed in the text that was available"),
    Printed("data sets", MA_ZHENG, "data sets of the comparison", f"{DATA_SETS}", DATA_SETS),
    Printed("Dexter rows", MA_ZHENG, "rows of Dexter", f"{DEXTER_ROWS}", DEXTER_ROWS),
    Printed("Dexter features", MA_ZHENG, "features of Dexter with a nonzero in training",
            f"{DEXTER_FEATURES:,}", DEXTER_FEATURES),
    Printed("Dexter density", MA_ZHENG, "values of Dexter that are not zero",
            f"{DEXTER_DENSITY:.2%}", DEXTER_DENSITY),
    Printed("orders", MA_ZHENG, "random orders of the rows", f"{ORDERS}", ORDERS),
    Printed("claim", MA_ZHENG, "fewer nonzeros and a higher kappa at no worse error, against "
            "truncated gradient, FoBoS and RDA, with both losses", "on all data sets"),
    Printed("tables of errors", MA_ZHENG, "tables of errors, nonzeros and kappa",
            "lost in the text that was available"),
    Printed("formulas", MA_ZHENG, "formulas (4) - (12) and (16)",
            "lost in the text that was available"),
    Printed("oscillation", MA_ZHENG, f"Figure 1: nonzeros of truncated gradient over the last "
            f"{UPDATES:,} updates on Dexter, least to most",
            f"within about {OSCILLATION:.0%} of the features", OSCILLATION),
    Printed("constant nonzeros", MA_ZHENG, "Figure 1: the same of stabilised SGD",
            "nearly constant"),
    Printed("annealing", MA_ZHENG, "Figure 2: the curves of annealing",
            "from 0 to the rejection rate; the curves are lost"),
    Printed("pi0", MA_ZHENG, "the results depend little on pi0", "insensitive"),
    Printed("gamma", MA_ZHENG, "the better sign of gamma depends on the data",
            "the signs are lost in the text that was available"),
    Printed("regret", MA_ZHENG, "the regret is bounded",
            "the bound is lost in the text that was available"),
)  # fmt: skip
