"""Rules, schedules, storages, averages and losses are small objects that nest in an estimator."""

import copy
import inspect
import pickle
from dataclasses import dataclass

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from support import same_bits
from support.algorithms import other_than
from support.matrices import make_data
from support.models import OBJECTS as EXPORTED
from support.models import place_of

import lazynet
from lazynet import (
    FoBoS,
    FromData,
    FromStep,
    InverseSqrt,
    LazyNetClassifier,
    LazyNetRegressor,
    Pegasos,
    Power,
    Stepper,
)
from lazynet.parameters import kinds_of

#: Every kind of object that lazynet exports, and the parameter of an estimator that takes it.
KINDS = [(kind, place_of(kind)) for kind in EXPORTED]
#: The same with every parameter of the object, and a value that is not its default.
OBJECTS = [
    (kind, parameter, {name: other_than(of, getattr(kind(), name))})
    for kind, parameter in KINDS
    for name, of in kinds_of(kind).items()
]
each_object = pytest.mark.parametrize(
    ("kind", "parameter", "changed"),
    OBJECTS,
    ids=[f"{kind.__name__}-{name}" for kind, _, changed in OBJECTS for name in changed],
)


def model_with(parameter, value):
    """An estimator with one object, two epochs, and a penalty that the object allows."""
    options = dict(
        l1=1e-3, l2=0.0 if parameter == "loss" else 1e-3, max_iter=2, tol=None, random_state=0
    )
    Estimator = LazyNetRegressor if parameter == "loss" else LazyNetClassifier
    outer, _, inner = parameter.partition("__")
    options[outer] = FoBoS(**{inner: value}) if inner else value
    return Estimator(**options)


def name_of(kind):
    """What stands for an object of this kind with its defaults."""
    return True if kind is FromStep else kind.name


# --- the objects ----------------------------------------------------------------------------


@each_object
def test_objects_are_values(kind, parameter, changed):
    """They clone, copy, pickle and compare by their parameters, and a copy can be changed alone.

    repr is a line of Python that makes the object again; defaults are left out.
    """
    value, ((name, given),) = kind(**changed), changed.items()
    for twin in (
        clone(value),
        copy.copy(value),
        copy.deepcopy(value),
        pickle.loads(pickle.dumps(value)),
        eval(repr(value), vars(lazynet)),
    ):
        assert twin is not value
        assert twin == value == kind(**changed) != kind()
        twin.set_params(**kind().get_params())
        assert twin == kind() != value
        assert value.get_params() == {**kind().get_params(), **changed}
    assert all(kind() != other() for other, _ in KINDS if other is not kind)
    assert repr(value) == f"{kind.__name__}({name}={given!r})"


@each_object
def test_parameters_of_objects_nest(kind, parameter, changed):
    """get_params, set_params and repr of a model reach a parameter of an object."""
    ((name, given),) = changed.items()
    model = model_with(parameter, kind())
    assert f"{parameter}__{name}" in model.get_params()
    assert model.set_params(**{f"{parameter}__{name}": given}) is model
    assert model.get_params()[parameter] == kind(**changed)
    assert clone(model).get_params()[f"{parameter}__{name}"] == given
    parameter = parameter.removeprefix("rule__")
    assert f"{parameter}={kind.__name__}({name}={given!r})" in repr(model)


@pytest.mark.parametrize(("kind", "parameter"), KINDS)
def test_a_name_stands_for_the_object_with_its_defaults(kind, parameter):
    """The string and the object train the same model, bit for bit."""
    assert clone(kind()) == pickle.loads(pickle.dumps(kind())) == kind()
    assert repr(kind()) == f"{kind.__name__}()"
    X, y = make_data()
    values = name_of(kind), kind()
    by_name, by_object = (model_with(parameter, value).fit(X, y) for value in values)
    assert same_bits(by_name.coef_, by_object.coef_)
    assert by_object.coef_.any()


# --- grids ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "parameter"), [each for each in KINDS if kinds_of(each[0])])
def test_a_parameter_of_a_name_says_which_object_to_write(kind, parameter):
    """rule__gamma on rule="rda" needs an object that can hold a gamma."""
    nested, model = next(iter(kinds_of(kind))), model_with(parameter, name_of(kind))
    key = f"{parameter}__{nested}"
    with pytest.raises(ValueError, match=f"^{key} needs an object") as error:
        model.set_params(**{key: 0.5})
    assert str(error.value).endswith(f"write {parameter.removeprefix('rule__')}={kind.__name__}()")
    X, y = make_data(n_classes=0)
    with pytest.raises(ValueError, match=f"^{key} needs an object"):
        GridSearchCV(model, {key: [0.5, 5]}, cv=3, error_score="raise").fit(X, y)


@pytest.mark.parametrize("Estimator", [LazyNetClassifier, LazyNetRegressor, Stepper])
def test_constructors_hold_only_what_every_rule_understands(Estimator):
    """What belongs to one rule, schedule, storage, average or loss is given on its object."""
    of_objects = {name for kind, _ in KINDS for name in kinds_of(kind)}
    # Pegasos can have an l2 of its own.
    assert of_objects & set(inspect.signature(Estimator).parameters) == {"l2"}


# --- the scale of the rates -----------------------------------------------------------------


@pytest.mark.parametrize(
    "schedule", [InverseSqrt(0.1), Pegasos(), "pegasos", FromData(), [0.1] * 120, lambda t: 0.1]
)
@pytest.mark.every_case
def test_eta0_beside_a_schedule_with_a_scale_is_refused(schedule):
    """By estimators and by the Stepper alike."""
    X, y = make_data()
    rule = FoBoS(schedule, eta0=0.5)
    model = LazyNetClassifier(rule=rule, l2=1e-3, max_iter=2, tol=None)
    message = r"^eta0 is the scale of a schedule without a scale, got eta0=0.5 .*: leave eta0"
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(ValueError, match=message):
        Stepper(3, rule=rule)
    assert model.set_params(rule__eta0=None).fit(X, y).t_ == 120


@pytest.mark.parametrize("schedule", ["power", Power(), Power(power_t=0.5)], ids=str)
def test_eta0_is_the_scale_of_a_schedule_without_a_scale(schedule):
    """The rule and the schedule can each have it, and the weights have the same bits."""
    X, y = make_data()
    power = Power(0.25) if schedule == "power" else clone(schedule).set_params(eta0=0.25)
    one, other = (
        LazyNetClassifier(rule=rule, l1=1e-3, max_iter=2, tol=None, random_state=0).fit(X, y)
        for rule in (FoBoS(schedule, eta0=0.25), FoBoS(power))
    )
    assert one.eta0_ == other.eta0_ == 0.25
    assert same_bits(one.coef_, other.coef_)


@dataclass(repr=False)
class Shifted(Power):
    """A schedule of a user, with a parameter that no table of kinds names."""

    name = "shifted"
    t0: float = 1.0

    def _formula(self, scale, t):
        return scale / (self.t0 + t)


def test_an_object_of_a_user_keeps_its_own_parameters():
    """A subclass settles to a copy with all its parameters."""
    assert Shifted(1.0, t0=100.0).settled().t0 == 100.0
    assert Shifted(1.0, t0=100.0)(0) == 0.01


@pytest.mark.parametrize("room", ["reference", "schedules", "data", "plots", "engines"])
def test_rooms_can_be_entered_without_an_import_of_their_own(room):
    """`import lazynet` is enough for the modules that its docstring names."""
    assert getattr(lazynet, room).__name__ == f"lazynet.{room}"
    assert room in dir(lazynet)
