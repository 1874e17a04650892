"""The rows of the catalogue that tests run over, and compiled engines of every form."""

from lazynet import FTRL, RDA, SAGA, AdaGrad, Carpenter, FoBoS, TruncatedGradient
from lazynet.averages import FromStep
from lazynet.engines.catalogue import ALGORITHMS, EngineKind, new_engine
from lazynet.losses import get_loss
from lazynet.parameters import check_choice, check_flag, check_integer, check_number, kinds_of
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, OF_TRAINING
from lazynet.rules.storage import DEFAULT_BUDGET, STORAGES, Dense, Tables

#: The rules whose weights any storage keeps.
AFFINE_RULES = [name for name, row in ALGORITHMS.items() if row.engine is None]

#: The rules that have an engine of their own.
RULES_WITH_CELLS = [name for name, row in ALGORITHMS.items() if row.engine is not None]

#: The rules that ``partial_fit`` and ``Stepper`` can train with; ``fit`` can with every rule.
STREAMING_RULES = [name for name, row in ALGORITHMS.items() if row.rule.streams]


def other_than(kind, default):
    """A value of a parameter that is not its default."""
    if kind.check is check_choice:
        return next(name for name in kind.bounds["accepted"] if name != default)
    if kind.check is check_flag:
        return not default
    if kind.check is check_integer:
        return (default or kind.bounds["least"]) + 3
    if kind.check is not check_number:  # the counts of Balanced
        return {0: 3, 1: 1}
    return 0.5 if default != 0.5 else 0.25


def with_other_parameters(rule):
    """A rule of a class, none of whose own parameters has its default."""
    default, names = rule(), kinds_of(rule).keys() - OF_TRAINING
    return rule(**{name: other_than(kinds_of(rule)[name], vars(default)[name]) for name in names})


#: Every rule with parameters that are not its defaults; of some rules, values that tell more.
GIVEN = {name: with_other_parameters(row.rule) for name, row in ALGORITHMS.items()} | {
    "truncated_gradient": TruncatedGradient(period=5, threshold=0.3),
    "rda": RDA(gamma=3.0, rho=0.01),
    "ftrl": FTRL(alpha=0.2, beta=0.5, penalty="once"),
    "adagrad": AdaGrad(alpha=0.2, delta=0.5, initial=0.25),
    "saga": SAGA(alpha=0.2),
    "carpenter_inexact": Carpenter(period=7),
}


def default_of(name):
    """The rule with its defaults; with other parameters where the default has no state, or where
    it leaves the rate to the data."""
    default = ALGORITHMS[name].rule()
    return default if not default.is_affine and name in STREAMING_RULES else GIVEN[name]


def options_of(rule):
    """The options of an estimator with a rule: without l2 where the rule refuses l2."""
    return dict(rule=rule) if penalty_of(rule, 0.0, 1.0).l2 else dict(rule=rule, l2=0.0)


#: Both orders of gradient step and shrink.
BOTH_ORDERS = ("gradient_first", "shrink_first")


def storage_of(name, budget=DEFAULT_BUDGET, predictions=False):
    """A storage by name; tables take ``budget``, the dense storage ``predictions``."""
    if name == Tables.name:
        return Tables(budget)
    return Dense(predictions) if name == Dense.name else STORAGES[name]()


def engine_of(name, n_features, *, average=False, **options):
    """A new engine of a storage, all weights zero; ``options`` are those of ``storage_of``."""
    kind = EngineKind(FromStep() if average else None, storage=storage_of(name, **options))
    return new_engine(kind, n_features)


def loss_of(problem):
    """The loss of a problem and its width, as the references take them."""
    return dict(loss=get_loss(problem.loss).name, epsilon=problem.epsilon)


def accepts(rule, l2):
    """Whether a rule with its parameters can be used with an l2 of this size."""
    try:
        rule.settled().check(l2, LOG_LOSS)
    except ValueError:
        return False
    return True


def penalty_of(rule, l1, l2):
    """The penalty, without l2 where the rule refuses l2."""
    return ElasticNet(l1, l2 if accepts(rule, l2) else 0.0)


#: Options of an estimator for each rule that has an engine of its own and learns from a stream.
WITH_CELLS = {name: options_of(GIVEN[name]) for name in RULES_WITH_CELLS if name in STREAMING_RULES}

#: Every way to keep weights, with options of an estimator.
VARIANTS = {
    "clock": dict(rule=FoBoS()),
    "average": dict(rule=FoBoS(average=True)),
    "polynomial": dict(rule=FoBoS(average="polynomial")),
    "tables": dict(rule=FoBoS(storage=Tables(budget=7))),
    "dense": dict(rule=FoBoS(storage="dense")),
    "dense average": dict(rule=FoBoS(storage="dense", average=True)),
    **WITH_CELLS,
}
