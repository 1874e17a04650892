"""Tables of options in which the parameters of a rule stand beside those of the estimator."""

from sklearn.base import clone

from lazynet import FoBoS
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.rules.base import OF_TRAINING

#: Every parameter that a rule has and an estimator has not.
OF_RULES = OF_TRAINING | {"step_order"}


def rule_with(rule, **parameters):
    """The rule that ``rule`` is or names, with other values of these parameters."""
    rule = ALGORITHMS[rule].rule() if isinstance(rule, str) else clone(rule)
    return rule.set_params(**parameters)


def in_rule(**options):
    """The options of an estimator, with the parameters of a rule in its rule.

    Without a rule they are those of FoBoS.
    """
    of_rule = {name: options.pop(name) for name in OF_RULES & set(options)}
    if not of_rule:
        return options
    rule = options.get("rule", "auto")
    if isinstance(rule, str) and rule == "auto":
        rule = FoBoS()
    return options | {"rule": rule_with(rule, **of_rule)}
