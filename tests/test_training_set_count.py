"""The number of training sets, which may have thousands of digits, as people and programs read it."""

import copy
import json
import math
import pickle
from decimal import Decimal

import numpy as np
import pytest

from knnccv import KFold, complete_cv
from knnccv._formatting import TrainingSetCount

HUGE = TrainingSetCount(math.comb(20_000, 10_000))  # 6,019 digits: str() of an int refuses


def test_the_first_example_at_twenty_thousand_rows():
    X = np.arange(20_000.0)[:, None]
    result = complete_cv(X, np.arange(20_000) % 7 % 2, "nn", KFold(10))
    number = result.n_train_sets
    assert int(number) == math.comb(20_000, 2_000)
    exponent = math.floor(math.log10(number))
    assert str(number).endswith(f"e+{exponent}")
    assert f"{number}" == str(number) == repr(number)
    assert f"{number:.2e}".endswith(f"e+{exponent}")
    assert f"{number!s} training sets" in repr(result)
    assert result.log10_n_train_sets == pytest.approx(math.log10(number), rel=1e-13)


def test_short_numbers_are_shown_as_they_are():
    for value in (0, 1, 120, 10**14, 10**15 - 1):
        assert str(TrainingSetCount(value)) == repr(TrainingSetCount(value)) == str(value)
    assert str(TrainingSetCount(10**15)) == "1.0e+15"


@pytest.mark.parametrize("spec", ["d", ",", "_d", ".2e", "E", ".3g", "g", ".1f", ",.0f", ">30,", "x", "+d"])
@pytest.mark.parametrize("value", [7, 10**6, 123456789, 2**70, math.comb(345, 172)])
def test_short_numbers_are_formatted_as_integers(spec, value):
    assert format(TrainingSetCount(value), spec) == format(value, spec)


def test_long_numbers_are_formatted():
    digits = str(Decimal(int(HUGE)))
    assert f"{HUGE:d}" == f"{HUGE:n}" == digits
    assert f"{HUGE:,}".replace(",", "") == f"{HUGE:_d}".replace("_", "") == digits
    assert f"{HUGE:,}"[-4] == ","
    lead = float(digits[:12]) / 1e11
    assert f"{HUGE:.2e}" == f"{lead:.2f}e+{len(digits) - 1}"
    assert f"{HUGE:g}" == f"{lead:.6g}e+{len(digits) - 1}"
    assert f"{HUGE:E}" == f"{HUGE:.6E}" == f"{HUGE:.6e}".upper()
    assert f"{HUGE:.1f}" == digits + ".0"
    assert f"{HUGE:>12}" == f"{HUGE!s:>12}"
    assert int(f"{HUGE:x}", 16) == HUGE
    with pytest.raises(ValueError, match="format"):
        format(HUGE, "z!")


def test_it_is_an_integer():
    assert isinstance(HUGE, int)
    assert int(HUGE) == HUGE
    assert hash(HUGE) == hash(int(HUGE))
    assert {int(HUGE): 1}[HUGE] == 1
    assert type(HUGE + 1) is type(HUGE // 2) is type(-HUGE) is int
    for other in (pickle.loads(pickle.dumps(HUGE)), copy.copy(HUGE), copy.deepcopy(HUGE)):
        assert type(other) is TrainingSetCount
        assert other == HUGE
    small = TrainingSetCount(120)
    assert np.int64(small) == np.array([small])[0] == 120
    assert np.array([small]).dtype == np.int64
    assert json.dumps(small) == "120"
    assert range(small)[-1] == 119
