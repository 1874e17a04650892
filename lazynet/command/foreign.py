"""What Vowpal Wabbit's users reach for: names that are taken, and hints for those that are not."""

from __future__ import annotations

import re

from lazynet.losses import LOSSES

#: Losses by the names that Vowpal Wabbit and others give to them.
LOSS_NAMES = {
    "logistic": "log_loss",
    "log": "log_loss",
    "squared": "squared_error",
    "absolute": "absolute_error",
}

#: Options of Vowpal Wabbit that have no counterpart of the same kind here.
_HINTS = {
    "--sgd": "write --rule sgd",
    "--ftrl": "write --rule 'ftrl(penalty=\"once\")', or --rule ftrl with penalties that count on "
    "every row",
    "--adaptive": "write --rule adagrad",
    "--normalized": "the default rule follows the sizes of the features by itself",
    "--invariant": "there are no steps here that are invariant to importance weights",
    "--bfgs": "write --minimum",
    "--oaa": "nothing to set: several classes are learned one against the rest",
    "--ect": "nothing to set: several classes are learned one against the rest",
    "--csoaa": "there are no costs of classes here",
    "--multilabel_oaa": "write --multilabel",
    "-q": "make the products of features before",
    "--quadratic": "make the products of features before",
    "--cubic": "make the products of features before",
    "--interactions": "make the products of features before",
    "--ngram": "make the n-grams before, for instance with scikit-learn's HashingVectorizer",
    "--hash": "features are hashed as by --hash strings",
    "-k": "nothing to set: a cache that does not belong to the file is made again",
    "--kill_cache": "nothing to set: a cache that does not belong to the file is made again",
    "--cache_file": "write --cache FILE",
    "-t": "that is a command here: lazynet test MODEL FILE",
    "--testonly": "that is a command here: lazynet test MODEL FILE",
    "-p": "that is a command here: lazynet predict MODEL FILE -o PREDICTIONS",
    "--predictions": "that is a command here: lazynet predict MODEL FILE -o PREDICTIONS",
    "-r": "write lazynet predict MODEL FILE --scores",
    "--raw_predictions": "write lazynet predict MODEL FILE --scores",
    "--link": "write lazynet predict MODEL FILE --proba",
    "--holdout_off": "nothing to set: no row is held out without --holdout",
    "--holdout_after": "write --holdout N, which holds every N-th row out",
    "--early_terminate": "write --tol SHARE --patience PASSES",
    "--decay_learning_rate": "write --rule fobos --schedule 'power(power_t=0.5)'",
    "--initial_t": "a schedule begins at step 0 here",
    "--readable_model": "that is a command here: lazynet inspect MODEL",
    "--invert_hash": "that is a command here: lazynet inspect MODEL --names FILE",
    "--audit": "that is a command here: lazynet inspect MODEL",
    "--save_resume": "nothing to set: a model file keeps the state from which learning goes on",
    "--quantile_tau": "--loss absolute_error fits the median; other quantiles are not here",
    "--nn": "models are linear here",
    "--cb": "contextual bandits are not here",
}


def loss_named(name: str) -> str:
    """The name here of a loss that may have another name elsewhere.

    >>> loss_named("logistic"), loss_named("hinge")
    ('log_loss', 'hinge')
    """
    return name if name in LOSSES else LOSS_NAMES.get(name, name)


def hint_for(command: str, argument: str) -> str:
    """The message about an argument that a command does not know.

    >>> hint_for("train", "--oaa")
    'there is no option --oaa: nothing to set: several classes are learned one against the rest'
    """
    name = argument.partition("=")[0]
    if not name.startswith("-"):
        return f"{name!r} is one argument too many; see lazynet {command} --help"
    hint = _HINTS.get(name, f"see lazynet {command} --help")
    return f"there is no option {name}: {hint}"


def with_hint(message: str) -> str:
    """An error of the library with the option that is wanted, where it has another name here.

    >>> with_hint("a.svm: line 1, column 2: expected a space or the end of the line, found ',2'")
    "a.svm: line 1, column 2: expected a space or the end of the line, found ',2'; several labels \
a row, with commas between them: --multilabel"
    >>> with_hint("run.lazy is a checkpoint of another call. Name another file by checkpoint=...")
    'run.lazy is a checkpoint of another call. Name another file by --checkpoint'
    """
    if re.search(r"expected a space or the end of the line, found ',\d", message):
        return f"{message}; several labels a row, with commas between them: --multilabel"
    return message.replace("by checkpoint=...", "by --checkpoint")
