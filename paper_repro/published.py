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

#: What the texts say that features by nonzeros is; the quotient is IDEAL.
STATED_IDEAL = 2947.1528
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
#: The share of the values of Dexter that are not zero, of all its features.
DEXTER_DENSITY, DEXTER_FEATURES = 0.0048, 20_000
#: Data sets in Ma & Zheng's comparison, and the span of the nonzeros of truncated gradient over the
#: last updates in their Figure 1, as a share of all features.
DATA_SETS, UPDATES, OSCILLATION = 5, 1000, 0.10
#: Of their repository, and not of their paper: rows to learn from, features that occur in them, and
#: orders of the rows.
REPOSITORY_ROWS, REPOSITORY_FEATURES, REPOSITORY_ORDERS = 300, 7_751, 50

EARLY, VERSION_3, NOTE = (
    "Lipton & Elkan, early text",
    "Lipton & Elkan, version 3",
    "the note of 2012",
)
DEKEL, MA_ZHENG, REPOSITORY = "Dekel", "Ma & Zheng", "Ma & Zheng's repository"
#: The five texts, and what the authors of the last one have published beside it.
TEXTS = {
    EARLY: "Lipton & Elkan, Efficient Elastic Net Regularization for Sparse Linear Models, early "
    "text",
    VERSION_3: "the same paper, version 3 (arXiv:1505.06449v3)",
    NOTE: 'the note "Sparse Features and L2 Regularization" (2012)',
    DEKEL: "Dekel, Linear Learning with Sparse Data (arXiv:1612.09147)",
    MA_ZHENG: "Ma & Zheng, Stabilized Sparse Online Learning for Sparse Data (arXiv:1604.06498)",
    REPOSITORY: "what Ma & Zheng have published beside their paper, and do not print in it",
}


@dataclass(frozen=True)
class Printed:
    """A number, a table, a figure or a claim of a text.

    ``number`` is None where the text claims something without a number, or where its numbers are
    lost in the text that was available.
    """

    key: str
    text: str
    #: Where it stands: the section, and the line, formula, table or figure.
    where: str
    #: What it is about.
    what: str
    #: What is printed, in words, with the printed unit.
    printed: str
    number: float | None = None
    #: Whether it is a measurement that another machine can repeat: a ratio of two measurements of
    #: one machine, or a share.  A rate or a time is not, nor is an input or an identity.
    repeatable: bool = False


_RATES, _TIMES, _BESIDE = (
    "section 7, table of the two rates",
    "experiments, table of the average times",
    "section 7, text beside the table",
)


def _rates() -> list[Printed]:
    """The throughputs of the early text and the six times of version 3."""
    early = PUBLISHED["dicts", "fobos"]
    found = [
        Printed("early lazy", EARLY, _RATES, "FoBoS, lazy updates",
                f"{1 / early.lazy:,.0f} examples/s", 1 / early.lazy),
        Printed("early dense", EARLY, _RATES, "FoBoS, dense updates with sparse predictions",
                f"{1 / early.sparse_predictions:.4g} examples/s", 1 / early.sparse_predictions),
    ]  # fmt: skip
    for rule, title in (("sgd", "SGD"), ("fobos", "FoBoS")):
        times = PUBLISHED["scipy", rule]
        assert times.dense is not None
        found += [
            Printed(f"{rule} {kind}", VERSION_3, _TIMES, f"{title}, {words}",
                    f"{seconds:.{digits}f} s for an example", seconds)
            for kind, words, seconds, digits in (
                ("lazy", "lazy updates", times.lazy, 4),
                ("dense", "dense updates", times.dense, 3),
                ("sparse", "dense updates with sparse predictions", times.sparse_predictions, 3),
            )
        ]  # fmt: skip
    return found


def _ratios() -> list[Printed]:
    """What the early text says of its two rates, and the quotients of the times of version 3."""
    early = PUBLISHED["dicts", "fobos"].sparse_ratio
    found = [
        Printed("early ratio", EARLY, "abstract and section 7", "FoBoS, dense with sparse "
                "predictions by lazy", f"{STATED_EARLY_RATIO} times (the quotient of the two rates "
                f"is {early:.1f})", STATED_EARLY_RATIO, True),
    ]  # fmt: skip
    for rule, title in (("sgd", "SGD"), ("fobos", "FoBoS")):
        times = PUBLISHED["scipy", rule]
        assert times.dense_ratio is not None
        found += [
            Printed(f"{rule} dense ratio", VERSION_3, f"{_TIMES}: a quotient", f"{title}, dense by "
                    "lazy", f"{times.dense_ratio:,.0f} times", times.dense_ratio, True),
            Printed(f"{rule} sparse ratio", VERSION_3, f"{_TIMES}: a quotient", f"{title}, dense "
                    "with sparse predictions by lazy", f"{times.sparse_ratio:,.0f} times",
                    times.sparse_ratio, True),
        ]  # fmt: skip
    return [
        *found,
        Printed("stated ratio", VERSION_3, "abstract", "dense by lazy, as the text states it",
                f"over {STATED_RATIO:,} times", STATED_RATIO),
        Printed("stated sparse ratio", VERSION_3, "experiments, text beside the table", "dense "
                "with sparse predictions by lazy, as the text states it",
                f"over {STATED_SPARSE_RATIO:,} times", STATED_SPARSE_RATIO),
    ]  # fmt: skip


#: Everything that the five texts print, text by text.
ENTRIES: tuple[Printed, ...] = (
    Printed("real corpus", EARLY, "section 7", "the corpus: abstracts in Medline, bags of words",
            "abstracts of biomedical articles"),
    Printed("examples", EARLY, "section 7", "examples of the corpus", f"{EXAMPLES:,}", EXAMPLES),
    Printed("features", EARLY, "abstract and section 7", "features of the corpus",
            f"{FEATURES:,}", FEATURES),
    Printed("nonzeros", EARLY, "section 7 (the abstract: 88)", "nonzeros of an example, on average",
            f"{NONZEROS}", NONZEROS),
    Printed("ideal", EARLY, "section 7", "features by nonzeros: what sparsity alone could yield",
            f"{STATED_IDEAL} (the quotient is {IDEAL:.4f})", STATED_IDEAL),
    *(each for each in (*_rates(), *_ratios()) if each.text == EARLY),
    Printed("figures", EARLY, _BESIDE, "agreement of lazy and dense weights on synthetic data",
            f"{FIGURES} significant figures", FIGURES),
    Printed("quarter", EARLY, _BESIDE, "lazy updates win tremendously where considerably less than "
            "a share of the features is nonzero", "one quarter", QUARTER),
    Printed("constant time", EARLY, "sections 5 and 6", "a missed stretch of updates costs "
            "constant time, an example its nonzeros", "no dependence on the number of features"),
    Printed("caches", EARLY, _BESIDE, "what the tables hold for each step",
            f"{CACHED_FLOATS} floating-point numbers", CACHED_FLOATS),
    Printed("full tables", EARLY, "text on the space of the tables", "bringing all weights current "
            "whenever the tables are full", "no significant time penalty"),
    Printed("equation 4", EARLY, "section 5.1, Equation 4", "the closed form for SGD with an l1 "
            "penalty", "exact"),
    Printed("harmonic", EARLY, "section 5.1", "the sum of n rates from step t on, by harmonic "
            "numbers", "eta_0 (H(t + n) - H(t))"),
    Printed("lemma 1", EARLY, "section 5, Lemma 1", "the product P(t) of SGD is positive",
            "for all t"),
    Printed("theorem 1", EARLY, "section 5, Theorem 1, Equations 10 - 14", "the closed form for "
            "SGD with an elastic net", "exact"),
    Printed("theorem 2 early", EARLY, "section 6.2, Theorem 2, Equations 16 - 18", "the closed "
            "form for FoBoS with an elastic net", "exact"),
    Printed("rates early", EARLY, "section 2.2", "eta = 1 / t and eta = 1 / sqrt(t) have an "
            "infinite sum and a finite sum of squares", "both"),
    Printed("accuracy early", EARLY, "section 7", "error of a model on test rows",
            "nothing printed"),
    *(each for each in (*_rates(), *_ratios()) if each.text == VERSION_3),
    Printed("theorem 1 again", VERSION_3, "section 5, Theorem 1", "the closed form for SGD with an "
            "elastic net, unchanged", "exact"),
    Printed("theorem 2", VERSION_3, "section 6, Theorem 2 with Phi and beta", "the closed form for "
            "FoBoS with an elastic net, mended", "exact"),
    Printed("algorithm 1", VERSION_3, "Algorithm 1", "the gradient step",
            "without eta before the gradient"),
    Printed("rates", VERSION_3, "section 2.2", "eta = 1 / sqrt(t) has a finite sum of squares",
            "as before"),
    Printed("accuracy", VERSION_3, "experiments", "error of a model on test rows",
            "nothing printed"),
    Printed("rescaling", NOTE, "last formulas: the updates of w-bar and c", "an l2 penalty by "
            "rescaling: the update of the stored weights", "divided by (1 - eta) c"),
    Printed("note overflow", NOTE, "last remark", "the scale c gets very large or very small, and "
            "logarithms do not help because c need not be positive", "look at c at every step, and "
            "fold it into the weights when it gets out of hand"),
    Printed("note times", NOTE, "the whole note", "times, errors", "nothing printed"),
    Printed("cost n", DEKEL, "Algorithms 1 - 3, their cost", "T steps on rows of k nonzeros cost "
            "O(n + T k): against n", "n is added once"),
    Printed("cost T", DEKEL, "Algorithms 1 - 3, their cost", "the same, against T",
            "in proportion to T"),
    Printed("cost k", DEKEL, "Algorithms 1 - 3, their cost", "the same, against k",
            "in proportion to k"),
    Printed("cost naive", DEKEL, "Algorithms 1 - 3, their cost", "naive averaging and centering "
            "cost O(T n)", "in proportion to n"),
    Printed("average better", DEKEL, "text on the averages of Equation 5", "the average of the "
            "iterates against the last iterate", "the average is the better choice"),
    Printed("centering", DEKEL, "Lemma 1", "centering implicitly, without dense rows, against "
            "centering every row", "the same predictor"),
    Printed("translation", DEKEL, "abstract", "CASGD is invariant to a translation of the rows",
            "invariant"),
    Printed("Dekel's algorithms", DEKEL, "Algorithms 2 and 3, Equations 6 and 17",
            "the pseudo-code against the equations", "exact"),
    Printed("Dekel's times", DEKEL, "the whole text", "times, errors",
            "nothing printed in the text that was available"),
    Printed("data sets", MA_ZHENG, "experiments, list of the data sets", "data sets of the "
            "comparison", f"{DATA_SETS}, among them Dexter, Arcene and RCV1", DATA_SETS),
    Printed("Dexter density", MA_ZHENG, "experiments, list of the data sets", "values of Dexter "
            "that are not zero", f"{DEXTER_DENSITY:.2%} of all {DEXTER_FEATURES:,} features",
            DEXTER_DENSITY),
    Printed("claim", MA_ZHENG, "abstract", "accuracy, sparsity and stability, compared with the "
            "original algorithm, which is truncated gradient", "favourable"),
    Printed("claim stabler", MA_ZHENG, "section 1", "stability (kappa), compared with other sparse "
            "online learning algorithms", "stabler"),
    Printed("sparsest gains", MA_ZHENG, "experiments, text on the results", "where the algorithm "
            "improves most", "where sparsity is highest"),
    Printed("tables of errors", MA_ZHENG, "experiments, all tables of results", "errors, nonzeros "
            "and kappa", "lost in the text that was available"),
    Printed("formulas", MA_ZHENG, "Equations 4 - 12 and 16", "the formulas of the "
            "algorithm", "lost in the text that was available"),
    Printed("oscillation", MA_ZHENG, "Figure 1", f"nonzeros of truncated gradient over the last "
            f"{UPDATES:,} updates on Dexter, least to most",
            f"within about {OSCILLATION:.0%} of the features", OSCILLATION, True),
    Printed("constant nonzeros", MA_ZHENG, "Figure 1", "the same of stabilised SGD",
            "nearly constant"),
    Printed("annealing", MA_ZHENG, "Equation 12 and Figure 2", "the curves of "
            "annealing", "from 0 to the rejection rate; the curves are lost"),
    Printed("gamma", MA_ZHENG, "section 3.3", "the better sign of gamma depends on the data",
            "negative for RCV1, positive for Arcene"),
    Printed("pi0", MA_ZHENG, "text on the choice of pi0", "the results depend little on pi0",
            "within a reasonable range of values"),
    Printed("lemmas", MA_ZHENG, "Lemmas 1 and 2 and their proofs", "the two lemmas of the theory",
            "formulas lost in the text that was available"),
    Printed("regret", MA_ZHENG, "the theorem on the regret", "the regret is bounded",
            "the bound is lost in the text that was available"),
    Printed("corollary", MA_ZHENG, "Corollary 1", "the regret grows no faster than the square root "
            "of the number of steps", "formula lost in the text that was available"),
    Printed("assumption", MA_ZHENG, "section 6, text on the losses", "hinge and logistic loss "
            "satisfy an assumption of the theory", "Assumption 1"),
    Printed("repository rows", REPOSITORY, "data files of Dexter", "rows of Dexter to learn from",
            f"{REPOSITORY_ROWS}", REPOSITORY_ROWS),
    Printed("repository features", REPOSITORY, "data files of Dexter", "features that occur in "
            "these rows", f"{REPOSITORY_FEATURES:,}", REPOSITORY_FEATURES),
    Printed("orders", REPOSITORY, "script of the comparison", "random orders of the rows",
            f"{REPOSITORY_ORDERS}", REPOSITORY_ORDERS),
    Printed("released figures", REPOSITORY, "the program for the hinge loss with the parameters of "
            "its example", "test error and nonzeros on Dexter", "no figure; the program was run "
            "under R for this package"),
)  # fmt: skip
