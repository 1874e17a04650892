"""Every parameter of every public object becomes a plain value, or is refused by its name.

A parameter that is added tomorrow is covered without a change here: estimators and the small
objects that carry the parameters of rules, schedules, storages, averages and losses are found in
the package, parameters in their constructors, dataclasses by their fields.
"""

import copy
import dataclasses
import importlib
import inspect
import pkgutil
import warnings
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import Phase, find, settings
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import lazynet
from lazynet import (
    RDA,
    SAGA,
    AdaGrad,
    Balanced,
    FoBoS,
    FromStep,
    LazyNetClassifier,
    LazyNetRegressor,
    PolynomialDecay,
    Power,
    Stepper,
    Suffix,
    TruncatedGradient,
    selection_stability,
)
from lazynet.averages import checked_counts
from lazynet.data.weights import check_sample_weight
from lazynet.engines.catalogue import ALGORITHMS, check_rule
from lazynet.losses import EpsilonInsensitive, Huber, SquaredEpsilonInsensitive
from lazynet.parameters import (
    LARGEST_INTEGER,
    Choice,
    Flag,
    Integer,
    Number,
    ParameterObject,
    SettledFields,
)
from lazynet.rules.base import Rule
from lazynet.rules.storage import STORAGES, Storage
from lazynet.schedules import SCHEDULES, Formula, FromData, checked_rates
from lazynet.verify import strategies as strategies
from lazynet.verify.online import LARGEST_EPOCHS
from lazynet.verify.tolerance import OVERFLOWED
from safe.fuzz.models import ESTIMATORS as EXPORTED
from safe.fuzz.portrait import portrait

pytestmark = [
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.filterwarnings("error:Casting complex"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

N, D = 200, 12


def make_data(n=N):
    rng = np.random.default_rng(0)
    X = sparse.random(n, D, density=0.4, format="csr", random_state=0)
    y = (X @ rng.standard_normal(D) > 0).astype(int)
    y[:2] = 0, 1
    return X, y


# --- what there is -------------------------------------------------------------------------


def modules():
    """Every module of the package that can be imported, but the plain references."""
    for found in pkgutil.walk_packages(lazynet.__path__, "lazynet."):
        if found.name.startswith("lazynet.dask") and find_spec("distributed") is None:
            continue
        if not found.name.startswith(("lazynet.reference", "lazynet.kernels")):
            yield importlib.import_module(found.name)


def classes():
    """Every class that a module of the package defines."""
    return [
        kind
        for module in modules()
        for kind in vars(module).values()
        if inspect.isclass(kind) and kind.__module__ == module.__name__
    ]


ESTIMATORS = {kind.__name__: kind for kind in EXPORTED}
#: Every small object that carries parameters; their base classes are no dataclasses.
OBJECTS = {
    kind.__name__: kind
    for kind in classes()
    if issubclass(kind, ParameterObject) and dataclasses.is_dataclass(kind)
}
#: Which parameter of a model, or of its rule, takes an object of this kind.
PLACES = {Rule: "rule", Formula: "rule__schedule", FromData: "rule__schedule",
          Storage: "rule__storage", FromStep: "rule__average", Suffix: "rule__average",
          PolynomialDecay: "rule__average", Huber: "loss", EpsilonInsensitive: "loss",
          SquaredEpsilonInsensitive: "loss", Balanced: "class_weight"}  # fmt: skip
#: Dataclasses that calls return.
RESULTS = {"NetPath", "SelectionReport", "VerificationReport"}
#: The other dataclasses that users make; those inside the package hold values that were checked.
DATACLASSES = {
    kind.__name__: kind
    for kind in classes()
    if dataclasses.is_dataclass(kind)
    and not issubclass(kind, ParameterObject)
    and (kind.__name__ in {*lazynet.__all__} - RESULTS or kind is strategies.Problem)
}


def signature(kind):
    return [name for name in inspect.signature(kind).parameters if name != "self"]


MODELS = (*ESTIMATORS.values(), Stepper)
EVERY = [(kind, name) for kind in (*MODELS, *OBJECTS.values()) for name in signature(kind)]
OF_OBJECTS = [(kind, name) for kind, name in EVERY if kind not in MODELS]
EVERY_PARAMETER = pytest.mark.parametrize(
    ("kind", "name"), EVERY, ids=[f"{kind.__name__}-{name}" for kind, name in EVERY]
)
FIELDS = [(kind, name) for kind in DATACLASSES.values() for name in getattr(kind, "_kinds", {})]
EVERY_FIELD = pytest.mark.parametrize(
    ("kind", "name"), FIELDS, ids=[f"{kind.__name__}-{name}" for kind, name in FIELDS]
)


#: Other tests tell of schedules and averages, and of the parameters of models that are no numbers.
BOUNDED = [
    (kind, name)
    for kind, name in EVERY
    if isinstance(kind._kinds[name], (Integer, Number))
    or (kind not in MODELS and name not in ("schedule", "average"))
]
EVERY_BOUNDED_PARAMETER = pytest.mark.parametrize(
    ("kind", "name"), BOUNDED, ids=[f"{kind.__name__}-{name}" for kind, name in BOUNDED]
)
EVERY_OBJECT = pytest.mark.parametrize("kind", OBJECTS.values(), ids=lambda kind: kind.__name__)
EVERY_PARAMETER_OF_OBJECTS = pytest.mark.parametrize(
    ("kind", "name"), OF_OBJECTS, ids=[f"{kind.__name__}-{name}" for kind, name in OF_OBJECTS]
)


def place_of(kind):
    """The parameter of a model, or of its rule, that takes an object of this kind."""
    [place] = [place for base, place in PLACES.items() if issubclass(kind, base)]
    return place


def placed(made):
    """The option of a model that has the object ``made``."""
    outer, _, inner = place_of(type(made)).partition("__")
    return {outer: FoBoS(**{inner: made}) if inner else made}


def test_what_is_found_is_what_there_is():
    """The introspection above finds the objects that everybody knows."""
    assert {"LazyNetClassifier", "LazyNetRegressor", "ASGDClassifier"} <= set(ESTIMATORS)
    found = {kind.__name__ for kind in DATACLASSES.values()}
    assert {"ElasticNet", "FromArray", "FromCallable", "Problem"} <= found
    assert {"FromStep", "Suffix", "PolynomialDecay", "Huber", "EpsilonInsensitive"} <= set(OBJECTS)
    for table in (STORAGES, SCHEDULES, {name: row.rule for name, row in ALGORITHMS.items()}):
        assert {kind.__name__ for kind in table.values()} <= set(OBJECTS)
    # Users find every object where they find the estimators.
    assert set(OBJECTS) <= set(lazynet.__all__)


@pytest.mark.parametrize("kind", [*MODELS, *OBJECTS.values()], ids=lambda kind: kind.__name__)
def test_every_constructor_parameter_is_in_the_table(kind):
    """The table has every parameter of the constructor, and nothing that is no parameter."""
    assert sorted(kind._kinds) == sorted(signature(kind))


@pytest.mark.parametrize("kind", DATACLASSES.values(), ids=lambda kind: kind.__name__)
def test_every_number_and_flag_of_a_dataclass_is_in_its_table(kind):
    """Fields of other types are objects that check themselves."""
    plain = {
        field.name
        for field in dataclasses.fields(kind)
        if field.init
        and set(str(field.type).replace(" ", "").split("|")) & {"int", "float", "bool"}
    }
    if plain:
        assert issubclass(kind, SettledFields)
        assert plain <= set(kind._kinds) <= {field.name for field in dataclasses.fields(kind)}


# --- which values go with which parameter --------------------------------------------------

#: Options with which a parameter of an estimator changes the model, where the defaults do not.
MATTERS = {
    "n_iter_no_change": dict(tol=0.2, max_iter=30),
    "validation_fraction": dict(early_stopping=True),
}
#: Options that a model with an object of this kind needs.
NEEDED = {"TruncatedGradient": dict(l2=0.0), "Rescaled": dict(l1=0.0),
          "Pegasos": dict(l2=1e-3), "Optimal": dict(l2=1e-3)}  # fmt: skip
#: Short runs whose length is known.
SHORT = dict(max_iter=2, tol=None, random_state=0, burst_size=20, bursts_per_stage=3, l1=1e-3,
             l1s=3, cv=2)  # fmt: skip


def short(kind):
    """The options of a short run that the model has, and that may be what they are."""
    known = {key: value for key, value in SHORT.items() if key in signature(kind)}
    if "tol" in known and not kind._kinds["tol"].optional:
        del known["tol"]
    return known


def options_for(kind, name, value):
    """Arguments for a constructor: a short run in which the parameter matters."""
    if kind in OBJECTS.values():
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
    if kind not in OBJECTS.values():
        return kind
    return LazyNetRegressor if place_of(kind) == "loss" else LazyNetClassifier


def outcome(kind, name, value, method="fit", data=None):
    """All that training gives, as bytes, and the trained object."""
    X, y = data or make_data()
    options = options_for(kind, name, value)
    kind = host_of(kind)
    made = kind(**options)
    if kind is Stepper:
        for row in range(8):
            made.step_row(X, row, 2.0 * y[row] - 1.0)
        results = [made.weights, made.averages, np.array([made.intercept, made.t])]
    else:
        extra = (
            dict(classes=[0, 1])
            if method == "partial_fit" and hasattr(made, "predict_proba")
            else {}
        )
        if method == "partial_fit" and "class_weight" in made.get_params():
            extra = dict(classes=[0, 1])
        getattr(made, method)(X, y, **extra)
        results = [made.coef_, made.intercept_, np.array([made.n_iter_, getattr(made, "t_", 0)])]
        results.append(np.array([record["steps"] for record in getattr(made, "trace_", [])]))
    assert all(np.isfinite(result).all() for result in results)
    return [(np.shape(result), np.asarray(result).tobytes()) for result in results], made


def methods_of(kind):
    """The methods by which ``outcome`` trains a model with an object, or of a kind."""
    if kind in (SAGA, Suffix):
        return ["fit"]
    return ["fit", "partial_fit"] if hasattr(host_of(kind), "partial_fit") else ["fit"]


def called(kind, name):
    """What an error calls a parameter."""
    return f"{name} of {kind.__name__}" if kind in OBJECTS.values() else name


INTEGER_TYPES = [
    np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
]  # fmt: skip
FLOAT_TYPES = [np.float16, np.float32, np.float64, np.longdouble, Fraction]


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
            settled = kind._kinds[name].settled(name, value)
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
    whole = isinstance(kind._kinds[name], Number)
    for number_type in INTEGER_TYPES:
        largest = 100 if number_type is np.int8 else 200
        most = [2, 1, 0] if whole else [largest, 100, 1]
        # Every fold needs rows of both classes.
        plain = accepted(kind, name, [2] if name == "cv" else most)
        if plain is not None:
            yield number_type(plain), plain
    if not whole:
        plain = accepted(kind, name, [2] if name == "cv" else [200, 100, 1])
        if plain is not None and name != "verbose":
            yield Index(plain), plain
        return
    for number_type in FLOAT_TYPES:
        value = number_type(0.1) if number_type is not Fraction else Fraction(1, 3)
        plain = accepted(kind, name, [float(value)])
        if plain is not None:
            yield value, plain


NUMERIC = [pair for pair in EVERY if list(typed_values(*pair))]


# --- one value, many types -----------------------------------------------------------------


def test_every_number_is_tried_in_every_type():
    """What the tables call a number or an integer is among those tried below."""
    numbers = {
        (kind, name) for kind, name in EVERY if isinstance(kind._kinds[name], (Integer, Number))
    }
    assert numbers <= set(NUMERIC)
    tried = {name for _, name in NUMERIC}
    assert {"average", "random_state", "verbose", "n_jobs"} <= tried
    assert {"gamma", "period", "power_t", "t0", "budget", "degree", "first", "epsilon"} <= tried


@pytest.mark.parametrize(
    ("kind", "name"), NUMERIC, ids=[f"{kind.__name__}-{name}" for kind, name in NUMERIC]
)
def test_the_type_of_a_number_does_not_matter(kind, name):
    """Narrow integers do not wrap, half precision does not overflow: bit for bit one model."""
    methods = methods_of(kind)
    data, expected = make_data(), {}
    for value, plain in typed_values(kind, name):
        for method in methods:
            key = method, plain
            if key not in expected:
                expected[key], _ = outcome(kind, name, plain, method, data)
            found, made = outcome(kind, name, value, method, data)
            assert found == expected[key], (value, type(value), method)
            if kind is not Stepper:
                key = f"{place_of(kind)}__{name}" if kind in OBJECTS.values() else name
                assert made.get_params()[key] is value
                assert type(clone(made).get_params()[key]) is type(value)


FLAGS = [(kind, name) for kind, name in EVERY if isinstance(kind._kinds[name], Flag)]


@pytest.mark.parametrize(
    ("kind", "name"), FLAGS, ids=[f"{kind.__name__}-{name}" for kind, name in FLAGS]
)
def test_flags_are_true_or_false(kind, name):
    """Flags of NumPy are taken too; what is merely true or false in an ``if`` is refused."""
    for flag in (True, False):
        assert outcome(kind, name, np.bool_(flag))[0] == outcome(kind, name, flag)[0]
    for bad in ("no", "", 0, 1, None, [], np.array(True), np.int8(1)):
        with pytest.raises(
            (TypeError, ValueError), match=f"^{called(kind, name)} must be True or False"
        ):
            outcome(kind, name, bad)


@EVERY_FIELD
def test_fields_of_dataclasses_become_plain(kind, name):
    """A field becomes a plain int or float, whatever type of number is given."""
    given = example_of(kind)
    for value, plain in typed_values(kind, name):
        made = kind(**{**given, name: value})
        assert type(getattr(made, name)) in (int, float)
        assert getattr(made, name) == plain


#: What the constructors of dataclasses must be given.
EXAMPLES = {
    "FromArray": dict(values=[0.1]),
    "FromCallable": dict(function=lambda t: 0.1),
    "Problem": dict(
        X=sparse.csr_matrix([[1.0]]), y=[1.0], importances=[1.0], order=[0], rates=[0.1]
    ),
}


def example_of(kind):
    """What the constructor of a dataclass must be given."""
    return EXAMPLES.get(kind.__name__, {})


# --- the small objects ---------------------------------------------------------------------


@EVERY_PARAMETER_OF_OBJECTS
def test_parameters_of_objects_become_plain_in_a_copy(kind, name):
    """The copy has plain numbers, whatever type is given; the object keeps what was passed."""
    for value, plain in typed_values(kind, name):
        made = kind(**{name: value})
        settled = made.settled()
        # The average from a step on is settled to an object.
        found = settled.average.first if name == "average" else getattr(settled, name)
        assert type(found) in (int, float)
        assert found == plain
        assert getattr(made, name) is value
        assert vars(made).keys() == {field.name for field in dataclasses.fields(kind)}
        assert settled.settled() is settled


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind, name in EVERY if isinstance(kind._kinds[name], Choice)],
)
def test_choices_are_names(kind, name):
    """Strings of NumPy are taken too; everything else is refused, and the names are told."""
    for choice in kind._kinds[name].accepted:
        assert outcome(kind, name, np.str_(choice))[0] == outcome(kind, name, choice)[0]
        for bad in (choice.upper(), choice.encode(), choice + "\x00", [choice], np.array(choice)):
            with pytest.raises(
                ValueError, match=f"^{called(kind, name)} must be one of .*{choice}"
            ):
                outcome(kind, name, bad)


@EVERY_BOUNDED_PARAMETER
def test_bounds_of_parameters(kind, name):
    """Values beyond what the table allows are refused in fit, by the name of the parameter."""
    allowed = kind._kinds[name]
    bad = [np.nan, -np.inf, "1", 1j, [1.0], np.array([1.0, 2.0]), b"1", kind]
    bad += [] if allowed.optional else [None]
    if isinstance(allowed, Integer):
        bad += [allowed.least - 1, np.int8(-100), allowed.most + 1, 2.0, np.inf, True]
    elif isinstance(allowed, Number):
        bad += [True, np.bool_(True)]
        bad += [] if allowed.infinite else [np.inf, np.float16(np.inf), 10**400]
        bad += [allowed.least - 1.0] if np.isfinite(allowed.least) else []
        bad += [allowed.above, -1e-9] if np.isfinite(allowed.above) else []
    for value in bad:
        for method in methods_of(kind):
            with pytest.raises((TypeError, ValueError), match=f"^{called(kind, name)} must "):
                outcome(kind, name, value, method, make_data(20))
        if kind in MODELS or kind is Balanced:
            continue
        with pytest.raises((TypeError, ValueError), match=f"^{called(kind, name)} must "):
            Stepper(D, **placed(kind(**{name: value})), **NEEDED.get(kind.__name__, {}))


@EVERY_OBJECT
def test_no_object_is_changed_by_the_models_that_use_it(kind):
    """fit, partial_fit and verify leave the user's object, and give it back as it was passed."""
    X, y = make_data()
    place = place_of(kind)
    values = {
        name: next(iter(typed_values(kind, name)))[0]
        for name in signature(kind)
        if isinstance(kind._kinds[name], (Integer, Number))
    }
    made = kind({0: 2, 1: 1}) if kind is Balanced else kind(**values)
    before = portrait(made)
    models = []
    for Estimator in (LazyNetClassifier, LazyNetRegressor, LazyNetClassifier):
        if set(options_with(made)) <= set(signature(Estimator)):
            model = Estimator(**options_with(made))
            assert model.fit(X, y).get_params()[place] is made
            models.append(model)
    for model in models:
        if kind not in (Suffix, SAGA):
            model.partial_fit(X, y)
        if getattr(kind, "name", None) not in ALGORITHMS or ALGORITHMS[kind.name].exact:
            model.verify(X[:10], y[:10])
        assert model.get_params()[place] is made
    assert portrait(made) == before
    assert vars(made).keys() == set(signature(kind))
    assert all(getattr(made, name) is value for name, value in values.items())
    # The same object in two models: they share nothing that learns.
    assert np.array_equal(models[0].coef_, models[-1].coef_)


def test_no_settled_object_is_changed_later():
    """A model goes on with the values of its last call, whatever becomes of the object."""
    X, y = make_data()
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


@pytest.mark.parametrize("change", [
    lambda rule: setattr(rule, "gamma", -1.0), lambda rule: rule.set_params(gamma=-1.0),
])  # fmt: skip
def test_a_settled_object_that_is_changed_is_checked_again(change):
    """The mark of a settled object does not outlive the values that were checked."""
    X, y = make_data(20)
    for settled in (check_rule("rule", "rda"), RDA().settled()):
        change(settled)
        with pytest.raises(ValueError, match=r"^gamma of RDA must be"):
            LazyNetClassifier(rule=settled).fit(X, y)
        with pytest.raises(ValueError, match=r"^gamma of RDA must be"):
            LazyNetClassifier(rule=copy.deepcopy(settled)).fit(X, y)


@EVERY_PARAMETER_OF_OBJECTS
def test_set_params_after_fit(kind, name):
    """A nested parameter is refused by the next call, which leaves the model as it was."""
    X, y = make_data()
    place, model = place_of(kind), host_of(kind)(**options_with(kind()))
    before = model.fit(X, y).coef_.copy()
    assert model.set_params(**{f"{place}__{name}": [np.nan]}) is model
    for method in ("fit", "partial_fit"):
        # An array may be a schedule, and its numbers are no rates.
        with pytest.raises(
            (TypeError, ValueError), match=f"^({called(kind, name)}|schedule) must "
        ):
            getattr(model, method)(X, y)
    assert np.array_equal(model.coef_, before)
    model.set_params(**{f"{place}__{name}": getattr(kind(), name)})
    assert np.array_equal(model.fit(X, y).coef_, before)
    with pytest.raises(ValueError, match="Invalid parameter 'no_such_parameter'"):
        model.set_params(**{f"{place}__no_such_parameter": 1})


TAKERS = [
    (taker, name)
    for taker, name in EVERY
    if name in ("loss", "rule", "schedule", "storage", "average")
]


@pytest.mark.parametrize(
    ("taker", "name"), TAKERS, ids=[f"{taker.__name__}-{name}" for taker, name in TAKERS]
)
def test_classes_and_objects_of_another_kind_are_refused_by_name(taker, name):
    """A class in place of an object is told how to make one; other objects what belongs there."""
    for kind in OBJECTS.values():
        fits = place_of(kind).rpartition("__")[2] == name
        written = f"got the class {kind.__name__}: write {kind.__name__}"
        if fits and not isinstance(taker._kinds[name], Flag):
            with pytest.raises(
                TypeError, match=f"^{called(taker, name)} must be an object, {written}"
            ):
                outcome(taker, name, kind, data=make_data(20))
            continue
        for wrong in (kind, kind()):
            with pytest.raises((TypeError, ValueError), match=f"^{called(taker, name)} must "):
                outcome(taker, name, wrong, data=make_data(20))


# --- garbage -------------------------------------------------------------------------------

GARBAGE = [
    None, "a", b"a", [], {}, object(), np.nan, np.inf, -np.inf, -1, 0, 2**62, 2**63, 10**30,
    10**400, -(10**400), 10**5000, Fraction(10) ** 400, 1.5, 1j, np.array([1, 2]),
    np.array([[1.0]]), np.array(["a"]), np.complex128(1j), np.complex128, np.longdouble("1e4000"),
    np.float16(np.inf), lambda *arguments: None, lambda *arguments: 1j, True, np.bool_(False),
    Index,
]  # fmt: skip


def clean(act, *names):
    """Check that whatever ``act`` raises is of a clean kind and names one of the arguments."""
    try:
        act()
    except (TypeError, ValueError, IndexError, FloatingPointError) as error:
        if not any(name in str(error) for name in names):
            pytest.fail(f"{error!r} does not name {names}")


#: Values that are allowed, and that a machine cannot have room or time for.
TOO_LARGE_TO_TRY = {"max_iter", "n_features", "n_paths"}


@EVERY_PARAMETER
def test_garbage_is_refused_by_name(kind, name):
    """A finite model, or a TypeError or ValueError that names the parameter; nothing else."""
    data = make_data(n=20)
    methods = methods_of(kind)
    # A model of no features is one, but the rows of these data do not fit it.
    names = (name, "indices") if name == "n_features" else (name,)
    if kind in OBJECTS.values():
        # Rates and counts that follow from a sound number may still be too large.
        names = (called(kind, name), "schedule", "eta must", "eta0", "average.counts")
        # The default counts are those of the rows, which partial_fit does not know.
        names += ("class_weight='balanced'",) if kind is Balanced else ()
    for value in GARBAGE:
        if name in TOO_LARGE_TO_TRY and isinstance(value, int) and value == 2**62:
            continue
        for method in methods:
            clean(lambda v=value, m=method: outcome(kind, name, v, m, data), *names)


@EVERY_FIELD
def test_garbage_is_refused_by_dataclasses(kind, name):
    """Dataclasses refuse garbage when they are made, or when their numbers are asked for."""
    given = example_of(kind)
    for value in GARBAGE:

        def act(value=value):
            made = kind(**{**given, name: value})
            if hasattr(made, "rates") and callable(made.rates):
                checked_rates(made, 0, 5)
            if hasattr(made, "counts"):
                checked_counts(made, 0, 5)

        clean(act, name, "schedule", "average")


@pytest.mark.parametrize(
    "kind",
    [kind for kind in ESTIMATORS.values() if hasattr(kind, "partial_fit")],
    ids=lambda kind: kind.__name__,
)
def test_more_steps_than_can_be_counted_are_refused(kind):
    """The steps of all epochs together must be countable."""
    X, y = make_data()
    with pytest.raises(ValueError, match=r"max_iter must be at most .* where an epoch has 200"):
        kind(max_iter=LARGEST_INTEGER // 100).fit(X, y)


# --- what goes to fit ----------------------------------------------------------------------

METHODS = [
    (kind, method)
    for kind in ESTIMATORS.values()
    for method in ("fit", "partial_fit", "verify")
    if hasattr(kind, method)
]
#: Their arguments beside X and y that hold something for every row or class.
BESIDE = [
    (kind, method, name)
    for kind, method in METHODS
    for name in ("sample_weight", "sample_order", "classes")
    if name in inspect.signature(getattr(kind, method)).parameters
]


def call(kind, method, data, options=(), **arguments):
    """Train a short run, and see that what comes out is finite."""
    known = {**short(kind), **dict(options)}
    model = kind(**known)
    if method == "partial_fit" and "class_weight" in signature(kind):
        arguments = {"classes": [0, 1], **arguments}
    getattr(model, method)(*data, **arguments)
    assert method == "verify" or np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    ("kind", "method", "name"),
    BESIDE,
    ids=[f"{kind.__name__}-{method}-{name}" for kind, method, name in BESIDE],
)
def test_garbage_beside_the_data_is_refused_by_name(kind, method, name):
    """Garbage is refused alone, once for every row, and among good entries."""
    data = make_data(n=20)
    for value in GARBAGE:
        for given in (value, [value] * 20, [1] * 19 + [value], [1, 0, value]):
            clean(lambda given=given: call(kind, method, data, **{name: given}), name)


@pytest.mark.parametrize(
    "kind",
    [kind for kind in ESTIMATORS.values() if "class_weight" in signature(kind)],
    ids=lambda kind: kind.__name__,
)
def test_garbage_in_class_weight_is_refused_by_name(kind):
    """Garbage is refused as the weight of a class, and as its label."""
    data = make_data(n=20)
    for value in GARBAGE:
        clean(
            lambda value=value: call(kind, "fit", data, dict(class_weight={0: value})),
            "class_weight",
        )
    with pytest.raises(ValueError, match=r"class_weight\[0\] must be finite"):
        call(kind, "fit", data, dict(class_weight={0: 10**400}))
    with pytest.raises(ValueError, match="class_weight"):
        call(kind, "fit", data, dict(class_weight={7: 1.0}))
    with pytest.raises(ValueError, match="class_weight times sample_weight must be finite"):
        call(kind, "fit", data, dict(class_weight={0: 1e300}), sample_weight=np.full(20, 1e300))


def test_sample_weights_of_other_types():
    """Masks, fractions and narrow types count as the numbers that they equal."""
    X, _ = make_data(4)
    expected = [1.0, 0.0, 1.0, 0.0]
    for given in (
        np.array(expected, dtype=np.int8),
        np.array(expected, dtype=np.float16),
        np.array(expected, dtype=bool),
        [bool(weight) for weight in expected],
        [Fraction(weight) for weight in expected],
    ):
        weights = check_sample_weight(given, X)
        assert weights.dtype == np.float64
        assert weights.tolist() == expected
    given = np.array(expected)
    assert check_sample_weight(given, X) is given


# --- other arguments that are numbers ------------------------------------------------------


def drawn(strategy):
    """The first example of a strategy: there is nothing to find a smaller one of."""
    only = settings(max_examples=1, database=None, phases=[Phase.generate])
    return find(strategy, lambda _: True, settings=only)


def stability_with(**arguments):
    model = LazyNetClassifier(max_iter=1, tol=None)
    found = selection_stability(model, *make_data(20), **{"n_runs": 2, **arguments})
    return found.frequency.tolist()


def verified_with(**arguments):
    X, y = make_data(60)
    return str(
        LazyNetRegressor(l1=0.01, rule=FoBoS(eta0=0.1)).verify(
            X, y, **{"max_rows": 20, **arguments}
        )
    )


def stepped(act):
    stepper = Stepper(D, loss="squared_error", rule=FoBoS("constant", eta0=0.1))
    act(stepper)
    return stepper.weights.tolist()


MATRIX = make_data(20)[0]
#: Numbers that are no parameters: what an error calls each, and a call with it.
ELSEWHERE = {
    **{f"{name} of selection_stability": (name, lambda v, name=name: stability_with(**{name: v}))
       for name in ("n_runs", "n_jobs", "random_state")},
    **{f"{name} of verify": (name, lambda v, name=name: verified_with(**{name: v}))
       for name in ("max_rows", "epochs")},
    "target": ("target", lambda v: stepped(lambda s: s.step([0], [1.0], v))),
    "weight": ("weight", lambda v: stepped(lambda s: s.step([0], [1.0], 1.0, v))),
    "row": ("row", lambda v: stepped(lambda s: s.step_row(MATRIX, v, 1.0))),
    "j": ("j must", lambda v: stepped(lambda s: s.weight(v))),
    **{
        f"{name} of matrices": (
            name, lambda v, name=name: drawn(strategies.sparse_matrices(**{name: v}))
        ) for name in ("max_rows", "max_features", "min_features", "max_copies")
    },
    "n_rows of orders": ("n_rows", lambda v: drawn(strategies.orders(v))),
    "max_steps of orders": ("max_steps", lambda v: drawn(strategies.orders(2, v))),
    "n_rows of targets": ("n_rows", lambda v: drawn(strategies.targets(v))),
    "n_steps of rates": ("n_steps", lambda v: drawn(strategies.rates(v))),
    "reference of rates": ("reference", lambda v: drawn(strategies.rates(2, v))),
    "largest_rate": ("largest_rate", lambda v: drawn(strategies.penalties("sgd", v))),
}  # fmt: skip


@pytest.mark.parametrize("where", ELSEWHERE)
def test_garbage_elsewhere_is_refused_by_name(where):
    """Garbage is refused by name; narrow types do not wrap."""
    name, call_with = ELSEWHERE[where]
    strategy = "of matrices" in where or name in ("n_rows", "n_steps", "reference", "largest_rate")
    for value in ("a", 1j, -1, 10**400, True) if strategy or name == "max_steps" else GARBAGE:
        if name != "n_runs" or not isinstance(value, int) or value != 2**62:
            clean(lambda value=value: call_with(value), name)
    found, expected = (call_with(number) for number in (np.int8(2), 2))
    assert strategy or name == "max_steps" or found == expected


def test_what_verify_and_a_step_say_of_a_wrong_number():
    """How many epochs are too many, and that a word is no number."""
    X, y = make_data()
    with pytest.raises(ValueError, match="epochs must be at most"):
        LazyNetRegressor(l1=0.01, rule=FoBoS(eta0=0.1)).verify(X, y, epochs=LARGEST_EPOCHS + 1)
    with pytest.raises(TypeError, match="target must be a number, got '1'"):
        Stepper(D).step([0], [1.0], "1")


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


@pytest.mark.parametrize(
    "numbers",
    [
        np.full(20, 1 + 1j),
        np.full(20, 1 + 0j),
        np.full(20, "1"),
        np.full(20, b"1"),
        np.full(20, None),
        np.full(20, True),
        [1j] * 20,
        [10**400] * 20,
        np.full(20, np.longdouble("1e4000")),
    ],
    ids=lambda numbers: str(np.asarray(numbers).dtype),
)
def test_rates_and_counts_that_are_no_real_numbers_are_refused(numbers):
    """An imaginary part is not lost, and words are not read."""
    X, y = make_data(20)
    with pytest.raises((TypeError, ValueError), match="schedule must give"):
        LazyNetRegressor(rule=FoBoS(Own(numbers)), max_iter=1, tol=None).fit(X, y)
    with pytest.raises((TypeError, ValueError), match=r"average.counts\(0, 20\) must"):
        LazyNetRegressor(rule=FoBoS(average=Own(numbers)), max_iter=1, tol=None).fit(X, y)


@pytest.mark.parametrize("number_type", [np.float16, np.float32, np.longdouble, np.int8, object])
def test_rates_and_counts_of_other_types_are_taken(number_type):
    """Rates and counts of other types are taken as the numbers that they equal."""
    numbers = np.array([1, 2, 3], dtype=number_type)
    assert checked_rates(Own(numbers), 0, 3).tolist() == [1.0, 2.0, 3.0]
    assert checked_counts(Own(numbers), 0, 3).tolist() == [1.0, 2.0, 3.0]
    halves = Own([Fraction(1, 2), Fraction(1, 4)])
    assert checked_rates(halves, 0, 2).tolist() == [0.5, 0.25]


@pytest.mark.parametrize("power_t", [1e5, 1e308, -1e5])
def test_extreme_exponents_give_no_warning(power_t):
    """A rate that vanishes is 0; one that is infinite is refused by name."""
    schedule = Power(eta0=1.0, power_t=power_t)
    if power_t < 0:
        with pytest.raises(ValueError, match="schedule must give finite rates"):
            checked_rates(schedule, 0, 5)
    else:
        assert checked_rates(schedule, 0, 5)[0] == 1.0


def test_degrees_that_cannot_be_represented_are_refused_at_once():
    """The error comes before a loop over the degree, and before a run that ends in infinity."""
    assert np.isfinite(checked_counts(PolynomialDecay(170), 0, 1)).all()
    X, y = make_data()
    for degree in (171, 10**7, 2**63):
        with pytest.raises(ValueError, match="degree of PolynomialDecay must be at most 170"):
            LazyNetRegressor(rule=FoBoS(average=PolynomialDecay(degree))).fit(X, y)
        with pytest.raises(ValueError, match="degree of PolynomialDecay must be at most 170"):
            PolynomialDecay(degree).counts(0, 5)
    calls = []

    def schedule(t):
        calls.append(t)
        return 0.1

    model = LazyNetRegressor(
        rule=FoBoS(average=PolynomialDecay(100), schedule=schedule), max_iter=50, tol=None
    )
    with pytest.raises(ValueError, match=r"average.counts\(9999, 10000\) must be finite"):
        model.fit(X, y)
    assert not calls


# --- overflow ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ESTIMATORS.values(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e150, 1e200, 1e300, 1.7e308])
def test_extreme_data_give_no_warning_of_numpy(kind, scale):
    """A finite model, or an error that says what overflowed and what may help."""
    X, y = make_data(20)
    for factor, targets in (
        (scale, y),
        (1.0, y if "Classifier" in kind.__name__ else y * scale),
    ):
        large = dict(eta0=1e300, rule=FoBoS(eta0=1e300))
        for options in ({}, dict(loss="squared_error"), large, dict(l2=1e-300)):
            options = {key: options[key] for key in options if key in signature(kind)}
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.filterwarnings("ignore", "the best .* that was tried")
                warnings.filterwarnings("ignore", "the largest absolute value in y")
                try:
                    call(kind, "fit", (X * factor, targets), options)
                except (FloatingPointError, ValueError) as error:
                    if "loss must be one of" in str(error):
                        continue  # the estimator knows no squared error
                    if not any(word in str(error) for word in ("overflow", "scale", "eta")):
                        pytest.fail(f"{error!r} does not say what may help")


@pytest.mark.parametrize("average", [False, True, "polynomial"])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
@pytest.mark.parametrize("eta0", [1e-300, 1e5, 1e150, 1e300])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e200])
def test_verify_of_extreme_runs_gives_no_warning(scale, eta0, loss, average):
    """An overflow of both is no disagreement, and the report says where comparing ended."""
    X, y = make_data(20)
    # With a penalty no rule takes rates beyond the range of doubles.
    strengths = dict(l1=1e-3) if eta0 < 1e10 else dict(l1=0.0, l2=0.0)
    model = LazyNetRegressor(loss, rule=FoBoS(eta0=eta0, average=average), **strengths)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = model.verify(X * scale, y + 0.1, epochs=3)
    assert report.agrees is (True if report.steps_compared else None)
    assert (report.ended is None) == (report.steps_compared == report.steps)
    if report.ended is not None:
        assert report.ended in str(report)
        assert "DISAGREE" not in str(report)


def test_verify_says_that_both_overflowed():
    """The report tells of an overflow of both at the first step, and of a later one."""
    model = LazyNetRegressor("squared_error", rule=FoBoS("constant", eta0=1e300), l1=0.0, l2=0.0)
    first = model.verify([[1e300]], [1e300])
    assert first.agrees is None
    assert first.ended == OVERFLOWED
    assert "could not be compared" in str(first)
    later = model.verify([[1.0], [1e100]], [0.0, 1e100])
    assert later.agrees
    assert (later.steps_compared, later.steps) == (1, 2)
    assert "compared up to     step 1 of 2" in str(later)


# --- AdaGrad over trained weights ----------------------------------------------------------


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("options", "warns"),
    [
        (dict(l1=1e-3), True),
        (dict(l1=1e-6), True),
        (dict(l2=1e-6), True),
        (dict(l1=0.0), False),
        (dict(l1=1e-3, rule=AdaGrad(delta=1.0)), False),
    ],
)
def test_adagrad_over_trained_weights_warns_where_it_wipes_them(options, warns, method):
    """The first rate alpha / delta decides: the warning comes if one step takes a visible share."""
    X, y = make_data()
    model = LazyNetRegressor(l1=0.0, max_iter=3, tol=None, random_state=0).fit(X, y)
    model.set_params(**{"rule": "adagrad", "warm_start": True, **options})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(model, method)(X, y)
    messages = [str(warning.message) for warning in caught if warning.category is UserWarning]
    assert len(messages) == warns
    if warns:
        assert "the first rate of a coordinate" in messages[0]
        assert "Raise delta, or set l" in messages[0]
        assert caught[0].filename == __file__


def test_adagrad_warns_when_the_penalty_comes_later():
    """The penalty brings the warning once; a run that AdaGrad has begun itself gets none."""
    X, y = make_data()
    X = X.tolil()
    X[:, 0] = 0
    X = X.tocsr()
    full, _ = make_data()
    model = LazyNetRegressor(max_iter=3, tol=None, l1=0.0, l2=0.0).fit(full, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(rule="adagrad").partial_fit(X, y)
    with pytest.warns(UserWarning, match="goes on with weights that it has not trained"):
        model.set_params(l1=1e-3).partial_fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, y)
        own = LazyNetRegressor(rule="adagrad", l1=1e-3, l2=0.0, max_iter=3, tol=None).fit(X, y)
        own.partial_fit(X, y)
        own.set_params(l1=1e-2).partial_fit(X, y)


@pytest.mark.parametrize("size", [1e-154, 1e-160, 1e-162])
def test_rows_for_which_no_rate_is_finite_are_trained_on(size):
    """Training uses the largest rate that rules take: nobody gave an eta0 to refuse."""
    X, y = np.diag([size, size]), [0, 1]
    for rule in ("auto", TruncatedGradient(threshold=1.0)):
        model = LazyNetClassifier("hinge", rule=rule, fit_intercept=False)
        assert np.isfinite(model.fit(X, y).coef_).all()
