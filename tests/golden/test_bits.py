"""Small fits give the stored bits, and minima the stored objectives to within their gaps."""

import json

import numpy as np
import pytest

from golden.fits import FILE, digest_of, fits, minima, probe, tables

STORED = json.loads(FILE.read_text(encoding="utf-8"))
FITS, MINIMA, TABLES = fits(), minima(), tables()
pytestmark = pytest.mark.every_case
#: The stored digests of machines whose other libraries give the bits of this machine.
LIKE_HERE = [level["fits"] for level in STORED["levels"].values() if level["probe"] == probe()]


@pytest.mark.skipif(not LIKE_HERE, reason="other libraries have other bits on this machine")
@pytest.mark.parametrize("name", FITS)
def test_a_fit_gives_the_stored_bits(name):
    assert digest_of(FITS[name]) in [fits.get(name) for fits in LIKE_HERE]


@pytest.mark.parametrize("name", MINIMA)
def test_a_minimum_has_the_stored_objective(name):
    wanted, wanted_gap, wanted_nonzeros = STORED["minima"][name]
    objective, gap, nonzeros = MINIMA[name]()
    assert (np.abs(objective - wanted) <= gap + wanted_gap).all()
    assert (gap <= 1e-7).all()
    assert nonzeros.tolist() == wanted_nonzeros


@pytest.mark.parametrize("name", TABLES)
def test_a_cross_validation_has_the_stored_table(name):
    for values, wanted in zip(TABLES[name](), STORED["tables"][name], strict=True):
        np.testing.assert_allclose(values, wanted, rtol=1e-5)


def test_every_stored_fit_is_made():
    assert all(list(level["fits"]) == list(FITS) for level in STORED["levels"].values())
    assert list(STORED["minima"]) == list(MINIMA)
    assert list(STORED["tables"]) == list(TABLES)
