"""Every parameter of every public object becomes a plain value, or is refused by its name.

A parameter that is added tomorrow is covered without a change here: estimators and the small
objects that carry the parameters of rules, schedules, storages, averages and losses are found in
the package, parameters in their constructors, dataclasses by their fields.
"""

import dataclasses
import inspect
import re
import types
import typing
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from support.matrices import make_data
from support.models import ESTIMATORS, OBJECTS, RawRegressor, place_of, placed, short_options
from support.portrait import portrait

import lazynet
from lazynet import (
    RDA,
    SAGA,
    AdaGrad,
    Balanced,
    DualNetClassifier,
    FoBoS,
    FromStep,
    LazyNetClassifier,
    LazyNetRegressor,
    PolynomialDecay,
    Power,
    Stepper,
    Suffix,
    selection_stability,
)
from lazynet.averages import checked_counts
from lazynet.data.arrays import check_sample_weight
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.losses import LOSSES
from lazynet.parameters import (
    LARGEST_INTEGER,
    SettledFields,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    kinds_of,
)
from lazynet.rules.storage import STORAGES
from lazynet.schedules import SCHEDULES, checked_rates
from lazynet.verify import strategies
from lazynet.verify.online import LARGEST_EPOCHS

pytestmark = [
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.filterwarnings("error:Casting complex"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

N, D = 200, 12
REFUSED = (TypeError, ValueError)
#: Data of a usual size, and few rows.
DATA, FEW = make_data(N, D), make_data(20, D)


# --- what there is -------------------------------------------------------------------------

#: Dataclasses that calls return.
RESULTS = {"NetPath", "SelectionReport", "VerificationReport"}
#: The other dataclasses that users make; those inside the package hold values that were checked.
DATACLASSES = [
    strategies.Problem,
    *(
        kind
        for name, kind in ((name, getattr(lazynet, name)) for name in lazynet.__all__)
        if dataclasses.is_dataclass(kind)
        and name not in RESULTS
        and kind not in (*ESTIMATORS, *OBJECTS)
    ),
]
#: What the constructors of dataclasses must be given.
EXAMPLES = {
    "FromArray": dict(values=[0.1]),
    "FromCallable": dict(function=lambda t: 0.1),
    "Problem": dict(
        X=sparse.csr_matrix([[1.0]]), y=[1.0], importances=[1.0], order=[0], rates=[0.1]
    ),
}


def signature(kind):
    return [name for name in inspect.signature(kind).parameters if name != "self"]


MODELS = (*ESTIMATORS, Stepper)
PARAMETERS = [(kind, name) for kind in (*MODELS, *OBJECTS) for name in signature(kind)]
FIELDS = [
    (kind, name)
    for kind in DATACLASSES
    if issubclass(kind, SettledFields)
    for name in kinds_of(kind)
]


def each_parameter(pairs):
    """A case for each of these parameters."""
    ids = [f"{kind.__name__}-{name}" for kind, name in pairs]
    return pytest.mark.parametrize(("kind", "name"), pairs, ids=ids)


def of_kind(*checks):
    """The parameters that the tables call so."""
    return [(kind, name) for kind, name in PARAMETERS if kinds_of(kind)[name].check in checks]


def alternatives(of):
    """The types of a union; of any other type itself."""
    return typing.get_args(of) if isinstance(of, types.UnionType) else (of,)


def test_the_tables_have_every_parameter():
    """Of constructors all, of dataclasses the numbers and flags; the names are found above."""
    assert LazyNetClassifier in ESTIMATORS
    assert {"ElasticNet", "FromArray", "FromCallable"} <= {kind.__name__ for kind in DATACLASSES}
    for table in (STORAGES, SCHEDULES, {name: row.rule for name, row in ALGORITHMS.items()}):
        assert {*table.values()} <= {*OBJECTS}
    for kind in (*MODELS, *OBJECTS):
        assert sorted(kinds_of(kind)) == sorted(signature(kind))
    for kind in DATACLASSES:
        hints = typing.get_type_hints(kind)
        fields = {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}
        plain = {name for name, of in fields.items() if {int, float, bool} & {*alternatives(of)}}
        if plain:
            assert issubclass(kind, SettledFields)
            assert plain <= {*kinds_of(kind)} <= {field.name for field in dataclasses.fields(kind)}
    numbers = {*of_kind(check_integer, check_number)}
    assert numbers <= {*NUMERIC}
    tried = {name for _, name in NUMERIC}
    assert {"average", "random_state", "verbose", "n_jobs", "gamma", "period", "epsilon"} <= tried


# --- which values go with which parameter --------------------------------------------------

#: Options with which a parameter of an estimator changes the model, where the defaults do not.
MATTERS = {
    "n_iter_no_change": dict(tol=0.2, max_iter=30),
    "validation_fraction": dict(early_stopping=True),
}
#: Options that a model with an object of this kind needs.
NEEDED = {"TruncatedGradient": dict(l2=0.0),
          "Pegasos": dict(l2=1e-3), "Optimal": dict(l2=1e-3)}  # fmt: skip


def short(kind):
    """The options of a short run that the model has, and that may be what they are."""
    longer = dict(burst_size=20, bursts_per_stage=3, l1=1e-3)
    return short_options(kind) | {key: v for key, v in longer.items() if key in kinds_of(kind)}


def options_for(kind, name, value):
    """Arguments for a constructor: a short run in which the parameter matters."""
    if kind in OBJECTS:
        return options_with(kind(**{name: value}))
    matters = {key: v for key, v in MATTERS.get(name, {}).items() if key in signature(kind)}
    needed = {"n_features": D} if kind is Stepper else {}
    return {**needed, **short(kind), **matters, name: value}


def options_with(made):
    """Arguments for the constructor of a model that has the object ``made``: a short run."""
    kind = type(made)
    return {**short(host_of(kind)), **placed(made), **NEEDED.get(kind.__name__, {})}


def host_of(kind):
    """The model with which parameters are tried: of an object, a model that takes the object."""
    if kind not in OBJECTS:
        return kind
    return LazyNetRegressor if place_of(kind) == "loss" else LazyNetClassifier


def outcome(kind, name, value, method="fit", data=DATA):
    """All that training gives, as bytes, and the trained object."""
    X, y = data
    options = options_for(kind, name, value)
    kind = host_of(kind)
    made = kind(**options)
    if kind is Stepper:
        for row in range(8):
            made.step_row(X, row, 2.0 * y[row] - 1.0)
        results = [made.weights, made.averages, np.array([made.intercept, made.t])]
    else:
        classes = method == "partial_fit" and "class_weight" in made.get_params()
        getattr(made, method)(X, y, **(dict(classes=[0, 1]) if classes else {}))
        results = [made.coef_, made.intercept_, np.array([made.n_iter_, getattr(made, "t_", 0)])]
        results.append(np.array([record["steps"] for record in getattr(made, "trace_", [])]))
    assert all(np.isfinite(result).all() for result in results)
    return [(np.shape(result), np.asarray(result).tobytes()) for result in results], made


def methods_of(kind):
    """The methods by which ``outcome`` trains a model with an object, or of a kind."""
    both = hasattr(host_of(kind), "partial_fit") and kind not in (SAGA, Suffix)
    return ["fit", "partial_fit"] if both else ["fit"]


def called(kind, name):
    """What an error calls a parameter."""
    return f"{name} of {kind.__name__}" if kind in OBJECTS else name


def refused_by_name(kind, name, words, *arguments, **options):
    """Training is refused with an error that begins with the name."""
    with pytest.raises(REFUSED, match=f"^{called(kind, name)} must {words}"):
        outcome(kind, name, *arguments, **options)


#: The narrowest, the widest, and those that become real numbers beside others.
INTEGER_TYPES = [np.int8, np.int64, np.uint8, np.uint64]
FLOAT_TYPES = [np.float16, np.float64, np.longdouble, Fraction]


class Index:
    """An integer by its ``__index__`` alone."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def accepted(kind, name, candidates):
    """The first of the plain values that the table allows, or None."""
    for value in candidates:
        try:
            settled = kinds_of(kind)[name].settled(name, value)
        except (TypeError, ValueError):
            continue
        # The average from a step on is settled to an object.
        if type(settled) in (int, float, FromStep):
            return value
    return None


def typed_values(kind, name):
    """Pairs of a value of a NumPy type and the plain Python value that it equals.

    Integers are as large as 8 bits allow, so that their products with the 200 rows do not fit.
    """
    is_real = kinds_of(kind)[name].check is check_number
    # Every fold needs rows of both classes, and a path of 100 penalties takes its time.
    few = {"cv": [2], "l1s": [100]}.get(name)
    for number_type in (*INTEGER_TYPES, *[Index] * (not is_real and name != "verbose")):
        most = few or [100 if number_type is np.int8 else 200, 100, 1]
        plain = accepted(kind, name, [2, 1, 0] if is_real else most)
        if plain is not None:
            yield number_type(plain), plain
    for number_type in FLOAT_TYPES if is_real else ():
        value = number_type(0.1) if number_type is not Fraction else Fraction(1, 3)
        plain = accepted(kind, name, [float(value)])
        if plain is not None:
            yield value, plain


NUMERIC = [pair for pair in PARAMETERS if list(typed_values(*pair))]


# --- one value, many types -----------------------------------------------------------------


@each_parameter(NUMERIC)
def test_the_type_of_a_number_does_not_matter(kind, name):
    """Narrow integers do not wrap, half precision does not overflow: bit for bit one model.

    An object keeps what was passed, and a settled copy of it has plain numbers.
    """
    expected = {}
    for value, plain in typed_values(kind, name):
        for method in methods_of(kind):
            key = method, plain
            if key not in expected:
                expected[key], _ = outcome(kind, name, plain, method)
            found, made = outcome(kind, name, value, method)
            assert found == expected[key], (value, type(value), method)
            if kind is not Stepper:
                path = f"{place_of(kind)}__{name}" if kind in OBJECTS else name
                assert made.get_params()[path] is value
                assert type(clone(made).get_params()[path]) is type(value)
        if kind in OBJECTS:
            made = kind(**{name: value})
            settled = made.settled()
            # The average from a step on is settled to an object.
            number = settled.average.first if name == "average" else getattr(settled, name)
            assert (type(number) in (int, float), number) == (True, plain)
            assert getattr(made, name) is value
            assert vars(made).keys() == {field.name for field in dataclasses.fields(kind)}
            assert settled.settled() is settled


@each_parameter(of_kind(check_flag, check_choice))
def test_flags_and_names(kind, name):
    """Flags and strings of NumPy are taken; what only looks like one is refused."""
    allowed = kinds_of(kind)[name]
    if allowed.check is check_flag:
        same, words = {flag: np.bool_(flag) for flag in (True, False)}, "be True or False"
        bad = ["no", "", 0, 1, None, [], np.array(True), np.int8(1)]
    else:
        same, words = {each: np.str_(each) for each in allowed.bounds["accepted"]}, "be one of "
        bad = [wrong for each in same for wrong in (
            each.upper(), each.encode(), each + "\x00", [each], np.array(each))]  # fmt: skip
    for plain, of_numpy in same.items():
        assert outcome(kind, name, of_numpy)[0] == outcome(kind, name, plain)[0]
    for value in bad:
        refused_by_name(kind, name, words, value)


#: Other tests tell of schedules and averages, and of the parameters of models that are no numbers.
BOUNDED = [
    (kind, name)
    for kind, name in PARAMETERS
    if kinds_of(kind)[name].check in (check_integer, check_number)
    or (kind in OBJECTS and name not in ("schedule", "average"))
]


#: What is neither a number nor a name.
NO_PARAMETERS = [
    np.nan, -np.inf, "1", 1j, [1.0], np.array([1.0, 2.0]), b"1", Decimal("0.1"), {}, object(),
    np.datetime64("2020-01-01"), np.array(["a"]), lambda t: 1j, len, "\x00",
]  # fmt: skip


@each_parameter(BOUNDED)
def test_bounds_of_parameters(kind, name):
    """Values beyond what the table allows are refused in fit, by the name of the parameter."""
    allowed = kinds_of(kind)[name]
    bad = [*NO_PARAMETERS, kind]
    bad += [] if allowed.optional else [None]
    bounds = allowed.bounds
    if allowed.check is check_integer:
        most = bounds.get("most", LARGEST_INTEGER)
        bad += [bounds["least"] - 1, np.int8(-100), most + 1, 2.0, np.inf]
        bad += [] if bounds.get("flags") else [True]
    elif allowed.check is check_number:
        bad += [True, np.bool_(True)]
        bad += [] if bounds.get("infinite") else [np.inf, np.float16(np.inf), 10**400]
        bad += [bounds["least"] - 1.0] if "least" in bounds else []
        bad += [bounds["above"], -1e-9] if "above" in bounds else []
    for value in bad:
        for method in methods_of(kind):
            refused_by_name(kind, name, "", value, method, FEW)
        if kind in MODELS or kind is Balanced:
            continue
        with pytest.raises(REFUSED, match=f"^{called(kind, name)} must "):
            Stepper(D, **placed(kind(**{name: value})), **NEEDED.get(kind.__name__, {}))


# --- the small objects ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", OBJECTS, ids=lambda kind: kind.__name__)
def test_no_object_is_changed_by_the_models_that_use_it(kind):
    """Two models that learn further and verify share nothing that learns, and leave the object."""
    X, y = DATA
    made = kind({0: 2, 1: 1}) if kind is Balanced else kind()
    before, options = portrait(made), options_with(made)
    models = [host_of(kind)(**options).fit(X, y) for _ in range(2)]
    assert np.array_equal(models[0].coef_, models[1].coef_)
    for model in models:
        if kind not in (Suffix, SAGA):
            model.partial_fit(X, y)
        if getattr(kind, "name", None) not in ALGORITHMS or ALGORITHMS[kind.name].exact:
            for each in (clone(model), model):
                was = portrait(each)
                assert each.verify(X, y, max_rows=10).rows == 10
                assert portrait(each) == was
        assert model.get_params()[place_of(kind)] is made
    assert portrait(made) == before


def test_an_object_that_is_changed_later_is_checked_again():
    """A call goes on with the values that it began with; the next one refuses a bad value."""
    X, y = DATA
    rule = RDA(gamma=2.0)

    def spoil(epoch):
        rule.gamma = -5.0

    expected = LazyNetClassifier(rule=RDA(gamma=2.0), max_iter=3, tol=None, random_state=0)
    model = clone(expected).set_params(rule=rule)
    assert np.array_equal(model.fit(X, y, callback=spoil).coef_, expected.fit(X, y).coef_)
    before = model.coef_.copy()
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=r"^gamma of RDA must be finite and positive, got -5"):
            getattr(model, method)(X, y)
    assert np.array_equal(model.coef_, before)
    assert np.array_equal(model.predict(X), expected.predict(X))
    rule.gamma = 2.0
    assert np.array_equal(model.partial_fit(X, y).coef_, expected.partial_fit(X, y).coef_)


@each_parameter([pair for pair in PARAMETERS
        if pair[1] in ("loss", "rule", "schedule", "storage", "average")])  # fmt: skip
@pytest.mark.every_case
def test_classes_and_objects_of_another_kind_are_refused_by_name(kind, name):
    """A class in place of an object is told how to make one; other objects what belongs there."""
    for other in OBJECTS:
        fits = place_of(other).rpartition("__")[2] == name
        if fits and kinds_of(kind)[name].check is not check_flag:
            advice = f"be an object, got the class {other.__name__}: write {other.__name__}"
            refused_by_name(kind, name, advice, other, data=FEW)
            continue
        for wrong in (other, other()):
            refused_by_name(kind, name, "", wrong, data=FEW)


def test_an_unknown_loss_is_refused_with_the_losses_of_the_estimator():
    for kind, others in (
        (DualNetClassifier, {"perceptron"}),
        (LazyNetRegressor, {name for name, loss in LOSSES.items() if loss.margin}),
    ):
        with pytest.raises(ValueError, match=r"^loss must be one of \[.*\], got 'log'") as refused:
            kind(loss="log").fit(*FEW)
        listed = set(re.findall(r"'(\w+)'", str(refused.value))) - {"log"}
        assert listed == LOSSES.keys() - others


@pytest.mark.parametrize("name", ["C", "penalty"])
def test_advice_about_a_penalty_names_both_strengths(name):
    """A strength that is not given is automatic."""
    with pytest.raises(TypeError, match=f"has no parameter {name}: write ") as refused:
        DualNetClassifier(**{name: 1.0})
    ways = str(refused.value).partition(": write ")[2].split("; ")
    assert len(ways) >= 2
    assert all("l1=" in way and "l2=" in way for way in ways)


# --- garbage -------------------------------------------------------------------------------

GARBAGE = [*NO_PARAMETERS, None, np.inf, -1, 0, 2**62, 2**63, 10**400, -(10**400), 10**5000,
           Fraction(10) ** 400, 1.5, np.longdouble("1e4000"), True, Index]  # fmt: skip


def clean(act, *names):
    """Check that whatever ``act`` raises is of a clean kind and names one of the arguments."""
    try:
        act()
    except (TypeError, ValueError, IndexError, FloatingPointError) as error:
        if not any(name in str(error) for name in names):
            pytest.fail(f"{error!r} does not name {names}")


@each_parameter(FIELDS)
def test_fields_of_dataclasses(kind, name):
    """A field becomes a plain number, whatever type is given; garbage is refused by name."""

    def made_with(value):
        return kind(**{**EXAMPLES.get(kind.__name__, {}), name: value})

    def asked(value):
        made = made_with(value)
        if callable(getattr(made, "rates", None)):
            checked_rates(made, 0, 5)
        if hasattr(made, "counts"):
            checked_counts(made, 0, 5)

    for value, plain in typed_values(kind, name):
        found = getattr(made_with(value), name)
        assert (type(found) in (int, float), found) == (True, plain)
    for value in GARBAGE:
        clean(lambda v=value: asked(v), name, "schedule", "average")


# --- what goes to fit ----------------------------------------------------------------------


def fit(kind, data, options, **arguments):
    """Train a short run, and see that what comes out is finite."""
    model = kind(**{**short(kind), **options}).fit(*data, **arguments)
    assert np.isfinite(model.coef_).all()


def test_numbers_that_are_too_large_together():
    """Steps of all epochs, class weights, products of weights: each is told by its name."""
    for kind in ESTIMATORS:
        if hasattr(kind, "partial_fit"):
            with pytest.raises(ValueError, match=r"max_iter must be at most .* an epoch has 20 "):
                kind(max_iter=LARGEST_INTEGER // 10).fit(*FEW)
        if "class_weight" in signature(kind):
            for weight, words, more in (
                ({0: 10**400}, r"class_weight\[0\] must be finite", {}),
                ({7: 1.0}, "class_weight", {}),
                ({0: 0, 1: 0}, "class_weight, must not be zero for every row", {}),
                ({1: 0.0}, "must not be zero for every row", dict(sample_weight=FEW[1])),
                ({0: 1e300}, "class_weight times sample_weight must be finite",
                 dict(sample_weight=np.full(20, 1e300))),
            ):  # fmt: skip
                with pytest.raises(ValueError, match=words):
                    fit(kind, FEW, dict(class_weight=weight), **more)
    with pytest.raises(ValueError, match="epochs must be at most"):
        LazyNetRegressor(rule=FoBoS(eta0=0.1)).verify(*FEW, epochs=LARGEST_EPOCHS + 1)


def test_sample_weights_of_other_types():
    """Masks, objects and narrow types count as the numbers that they equal."""
    X, expected = np.eye(4), np.array([1.0, 0.0, 1.0, 0.0])
    for kind in (np.int8, np.float16, bool, object):
        weights = check_sample_weight(expected.astype(kind), X)
        assert weights.dtype == np.float64
        assert weights.tolist() == expected.tolist()
    assert check_sample_weight(expected, X) is expected
    assert check_sample_weight(2.0, X).tolist() == [2.0] * 4


# --- other arguments that are numbers ------------------------------------------------------


def stepper():
    return Stepper(D, loss="squared_error", rule=FoBoS("constant", eta0=0.1))


def stability_with(**arguments):
    model = LazyNetClassifier(max_iter=1, tol=None)
    found = selection_stability(model, *FEW, **{"n_runs": 2, **arguments})
    return found.frequency.tolist()


def verified_with(**arguments):
    model = LazyNetRegressor(l1=0.01, rule=FoBoS(eta0=0.1))
    return str(model.verify(*DATA, **{"max_rows": 20, **arguments}))


#: Numbers that are no parameters: the word by which an error calls each, and a call with it.
ELSEWHERE = {
    "n_runs": lambda v: stability_with(n_runs=v), "n_jobs": lambda v: stability_with(n_jobs=v),
    "random_state": lambda v: stability_with(random_state=v),
    "max_rows": lambda v: verified_with(max_rows=v), "epochs": lambda v: verified_with(epochs=v),
    "target": lambda v: stepper().step([0], [1.0], v),
    "importance": lambda v: stepper().step([0], [1.0], 1.0, v),
    "row": lambda v: stepper().step_row(FEW[0], v, 1.0),
    "j must": lambda v: stepper().weight(v),
}  # fmt: skip


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.every_case
def test_garbage_elsewhere_is_refused_by_name(name):
    """Garbage is refused by name; narrow types do not wrap."""
    for value in GARBAGE:
        if name != "n_runs" or not isinstance(value, int) or value != 2**62:
            clean(lambda value=value: ELSEWHERE[name](value), name)
    assert ELSEWHERE[name](np.int8(2)) == ELSEWHERE[name](2)


# --- schedules and averages of one's own ---------------------------------------------------


class Own:
    """A schedule and an average that gives whatever it holds."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __call__(self, t):
        return self.numbers[t]

    def rates(self, start, stop):
        return self.numbers[start:stop]

    counts = rates


def test_rates_and_counts_of_ones_own():
    """Real numbers of any type are taken as what they equal; everything else is refused."""
    bad = [np.full(20, value) for value in (1 + 1j, 1 + 0j, "1", b"1", None, True)]
    for numbers in (*bad, [1j] * 20, [10**400] * 20, np.full(20, np.longdouble("1e4000"))):
        for option, words in (
            ("schedule", "schedule must give"), ("average", r"average.counts\(0, 20\) must")
        ):  # fmt: skip
            model = LazyNetRegressor(rule=FoBoS(**{option: Own(numbers)}), max_iter=1, tol=None)
            with pytest.raises(REFUSED, match=words):
                model.fit(*FEW)
    for number_type in (np.float16, np.float32, np.longdouble, np.int8, object):
        numbers = Own(np.array([1, 2, 3], dtype=number_type))
        assert checked_rates(numbers, 0, 3).tolist() == [1.0, 2.0, 3.0]
        assert checked_counts(numbers, 0, 3).tolist() == [1.0, 2.0, 3.0]
    assert checked_rates(Own([Fraction(1, 2), Fraction(1, 4)]), 0, 2).tolist() == [0.5, 0.25]
    # A rate that vanishes is 0, an infinite one is refused; so are counts, before a step.
    assert checked_rates(Power(eta0=1.0, power_t=1e308), 0, 5).tolist() == [1.0, 0, 0, 0, 0]
    with pytest.raises(ValueError, match="schedule must give finite rates"):
        checked_rates(Power(eta0=1.0, power_t=-1e5), 0, 5)
    rule = FoBoS(average=PolynomialDecay(100), schedule=lambda t: pytest.fail("a step is taken"))
    with pytest.raises(ValueError, match=r"average.counts\(9999, 10000\) must be finite"):
        LazyNetRegressor(rule=rule, max_iter=50, tol=None).fit(*DATA)


# --- overflow ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e150, 1e200, 1.7e308])
def test_extreme_data_give_no_warning_of_numpy(kind, scale):
    """A finite model, or an error that says what overflowed and what may help."""
    X, y = FEW[0] / np.abs(FEW[0]).max(), FEW[1]
    extreme = [(X * scale, y)] + [(X, y * scale)] * (not is_classifier(kind()))
    large = dict(eta0=1e300, rule=FoBoS(eta0=1e300))
    for data in extreme:
        for options in ({}, dict(loss="squared_error"), large, dict(l2=1e-300)):
            options = {key: options[key] for key in options if key in signature(kind)}
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.filterwarnings("ignore", "the best .* of those tried")
                warnings.filterwarnings("ignore", "the largest absolute value in y")
                try:
                    fit(kind, data, options)
                except (FloatingPointError, ValueError) as error:
                    if "loss must be one of" in str(error):
                        continue  # the estimator knows no squared error
                    if not any(word in str(error) for word in ("overflow", "scale", "eta")):
                        pytest.fail(f"{error!r} does not say what may help")


# --- AdaGrad over trained weights ----------------------------------------------------------


@pytest.mark.parametrize("eta0", [1e5, 1e150, 1e300])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e200])
def test_verify_of_extreme_runs_gives_no_warning(scale, eta0):
    """An overflow of both is no disagreement, and the report says where comparing ended."""
    X, y = FEW
    # With a penalty no rule takes rates beyond the range of doubles.
    l1 = 1e-3 if eta0 < 1e10 else 0.0
    model = RawRegressor("squared_error", rule=FoBoS(eta0=eta0, average=True), l1=l1, l2=l1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = model.verify(X * scale, y + 0.1, epochs=3)
    assert report.agrees is (True if report.steps_compared else None)
    assert (report.ended is None) == (report.steps_compared == report.steps)
    assert report.ended is None or report.ended in str(report)
    assert "DISAGREE" not in str(report)


def warnings_of(model, method, *data, **options):
    """The warnings of users, in words, that a call with these parameters gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(model.set_params(**options), method)(*data)
    assert all(each.filename == __file__ for each in caught if each.category is UserWarning)
    return [str(each.message) for each in caught if each.category is UserWarning]


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_adagrad_over_trained_weights_warns_where_it_wipes_them(method):
    """Once, where a step of rate alpha / delta takes a visible share of weights of another rule."""
    X, y = DATA
    X = X @ sparse.diags([0.0] + [1.0] * (D - 1), format="csr")  # a feature is never touched
    for options, warns in (
        (dict(l1=1e-3), True), (dict(l1=1e-6), True), (dict(l2=1e-6), True), (dict(l1=0.0), False),
        (dict(l1=1e-3, rule=AdaGrad(delta=1.0)), False),
    ):  # fmt: skip
        model = LazyNetRegressor(l1=0.0, max_iter=3, tol=None, warm_start=True, random_state=0)
        model.fit(*DATA)
        if method == "partial_fit" and "rule" not in options:  # the penalty comes later
            assert not warnings_of(model, method, X, y, rule="adagrad")
        messages = warnings_of(model, method, X, y, **{"rule": "adagrad", **options})
        assert ["Raise delta, or set l" in message for message in messages] == [True] * warns
        assert not warnings_of(model, method, X, y)
