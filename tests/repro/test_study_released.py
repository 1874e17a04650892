"""Study released runs the reference's algorithm, and compares mean figures by standard errors."""

import copy
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import rows_without_ties
from support.studies import tiny_run

from paper_repro import planted
from paper_repro.render import figure
from paper_repro.studies import STUDIES, released
from paper_repro.studies.released_program import ReleasedClassifier, ReleasedProgram
from paper_repro.studies.released_reference import DenseReleased, quantile
from paper_repro.study import Settings


class Observed(DenseReleased):
    """The reference, and what it was after every burst."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.after_bursts = []

    def truncate(self, path):
        super().truncate(path)
        self.after_bursts.append((path, list(self.paths[path]), self.positions[path]))


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("seed", range(4))
def test_the_program_is_the_reference(loss, seed):
    """Weights and positions after every burst, features that are left at the end."""
    X, y = rows_without_ties(seed)
    options = dict(
        loss=loss, n_paths=2, max_iter=12, burst_size=6, bursts_per_stage=3, rejection_rate=0.5,
        stability=0.5,
    )  # fmt: skip
    program = ReleasedProgram(
        ReleasedClassifier(**options), X, y, [np.random.default_rng([seed, k]) for k in range(2)]
    )
    draws = [(path.rows.tolist(), path.permutation.tolist()) for path in program.paths]
    found = [
        (number, program.weights()[number], program.paths[number].position)
        for number in program.bursts()
    ]
    reference = Observed(X.shape[1], **options)
    examples = [(row.indices.tolist(), row.data.tolist(), t) for row, t in zip(X, y, strict=True)]
    reference.fit(examples, lambda path: draws[path])
    assert len({stable for stable, _ in reference.trace}) > 1  # it purges
    if (loss, seed) == ("hinge", 1):
        assert any(went_back for _, went_back in reference.trace)
    assert set(program.left) == reference.stable
    for (path, weights, position), expected in zip(found, reference.after_bursts, strict=True):
        assert (path, position) == (expected[0], expected[2])
        np.testing.assert_allclose(weights, expected[1], rtol=1e-10, atol=1e-10)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """A run on few planted rows."""
    with patch.multiple(planted, ROWS=300, FEATURES=600), patch.object(released, "SEEDS", 3):
        out, small = tmp_path_factory.mktemp("released"), Settings(nonzeros=10, repeats=1)
        found, page = tiny_run(STUDIES["released"], small, out)
    assert "nothing to compare with" in page
    return found


def test_a_tiny_run_records_every_figure(document):
    """As many as there are seeds; the least error is not above the last one."""
    found = document["records"]["runs"]["found"]
    assert set(found) == set(released.WHAT)
    assert {len(values) for values in found.values()} == {3}
    for least, last in zip(found[released.LEAST], found[released.ERROR], strict=True):
        assert 0 <= least <= last <= 1


def made_up(document, shift):
    """A run on rows of the shape of Dexter, with the authors' means, shifted by so much."""
    other = copy.deepcopy(document)
    record = other["records"]["runs"]
    record["train"], record["features"] = released.DEXTER
    for name, there in released.RELEASED.items():
        record["found"][name] = [there.mean * (1 + shift + part) for part in (-0.01, 0, 0.01)]
    return other


def test_means_are_compared_by_standard_errors(document):
    """Equal means agree; means that are far apart are named."""
    study = STUDIES["released"]
    same, far = (study.page(made_up(document, shift)) for shift in (0.0, 0.5))
    assert "all of them agree" in same
    assert "further apart than the bound: test error, nonzeros, features left, least" in far
    assert figure(study.content(made_up(document, 0.0))) is not None


@given(
    sizes=st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0, 7.0]), min_size=1),
    share=st.floats(0, 0.999),
)
def test_the_quantile_of_the_released_program_is_numpys(sizes, share):
    """R's type 7 is NumPy's "linear"."""
    assert quantile(sizes, share) == pytest.approx(np.quantile(sizes, share), rel=1e-12, abs=1e-15)
