"""Every check of user input, and every message that it may cause.

A function here takes what the user passed and returns what the kernel takes:
contiguous arrays of one type. Conversions happen here and nowhere else. Passes that
the kernel makes anyway (for NaN, for labels) stay there; it reports, this room words
the message.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Number, Rational, Real
from reprlib import repr as shortened
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from abers.errors import (
    InvalidFolds,
    InvalidLabels,
    InvalidParameter,
    InvalidProbabilities,
    InvalidScores,
    InvalidTargets,
    InvalidType,
    InvalidWeights,
    LengthMismatch,
    MissingExtra,
    need,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LabelArray = NDArray[np.bool_] | IntArray | FloatArray

LARGEST_EXACT_INTEGER = 2**53  # every integer up to here is a double
LARGEST_WEIGHT_RATIO = 1e140  # beyond, squares of shares vanish
LARGEST_REAL_TOTAL = 2.0**32  # of relative weights that are left alone, unless the
LEAST_LARGEST_WEIGHT = 2.0**-20  # largest of them is less than this
MOST_THREADS = 256  # the kernel starts no more
LARGEST_VECTOR_TOTAL = 2**32 - 1  # with a new case, products of counts have 62 bits
MOST_VECTORS = 10_000  # in three or more columns, where all pairs are compared
MOST_NUMBERED = 2**31 - 1  # in one or two columns, by integers of 32 bits
MOST_NAMED = 5  # labels in a message
ROUNDING = 0.5e-3  # how far a probability of three digits may be from what it was
FUZZ = 1e-9  # of sums of doubles, far above what they can be off

_RENUMBER = "Renumber them: np.unique(folds, return_inverse=True)[1]."
_NOT_REAL = (str, bytes, complex, np.complexfloating)  # though float() takes some


def as_scores(values: object, name: str = "scores") -> FloatArray:
    """Return one contiguous column of doubles; NaN stands for missing."""
    return _as_doubles(values, name, InvalidScores)


def as_calibration_scores(values: object) -> FloatArray:
    """Return scores to fit: at least one."""
    scores = as_scores(values)
    check_rows_exist(scores.size)
    return scores


def as_labels(
    values: object, name: str = "labels", *, option: str | None = None
) -> LabelArray:
    """Return one contiguous column of bools, 64-bit integers or doubles.

    `option` is the parameter of whoever asks that chooses one of two labels.
    """
    given = _as_array(_without_categories(values, name), name)
    # Under other names there may be more than two classes.
    if option or name == "labels":
        _refuse_text(given, name, option)
    array = _as_plain_column(given, name, InvalidLabels)
    if array.dtype.kind == "b":
        return np.ascontiguousarray(array, dtype=np.bool_)
    if array.dtype.kind in "iu":
        return np.ascontiguousarray(array, dtype=np.int64)
    return np.ascontiguousarray(array, dtype=np.float64)


def binary_labels(
    labels: object,
    positive: object | None,
    name: str = "labels",
    *,
    counted: NDArray[np.bool_] | None = None,
    option: str = "positive",
) -> tuple[LabelArray, Any]:
    """Return labels as 0 and 1, and the label that counts as 1, of any two labels.

    Without a `positive` they come as from `as_labels`, with None. With one, `counted`
    are the rows that must have one of two labels; None: all of them. `option` is what
    the caller's users call `positive`.
    """
    if positive is None:
        return as_labels(labels, name, option=option), None
    array = _label_column(labels, name)
    wanted = positive.item() if isinstance(positive, np.generic) else positive
    ones = np.asarray(array == wanted, dtype=np.bool_)
    rest = np.flatnonzero(~ones if counted is None else ~ones & counted)
    refuse_missing_labels(array, rest, name)
    if rest.size:
        others = array[rest]
        third = np.asarray(others != others[0], dtype=np.bool_)
        two_of_a_kind = isinstance(wanted, str) == isinstance(others[0], str)
        if not ones.any() and (third.any() or not two_of_a_kind):
            _refuse_positive(others, wanted, name, option)
        if third.any():
            row = int(rest[third.argmax()])
            msg = (
                f"{name} must have two values; got {_shown(array[row])} at row {row}, "
                f"besides {_shown(wanted)} and {_shown(others[0])}. To set one against "
                f"all others, pass np.asarray({name}) == {_shown(wanted)}."
            )
            raise InvalidLabels(msg)
    return ones, wanted


def _label_column(values: object, name: str) -> NDArray[Any]:
    """Return one column of labels of any type."""
    array = _as_array(_without_categories(values, name), name)
    if array.ndim != 1:
        hint = _way_to_one_column(array.shape, InvalidLabels)
        msg = f"{name} must be one-dimensional; got shape {array.shape}. {hint}"
        raise InvalidLabels(msg)
    return array


def refuse_missing_labels(
    array: NDArray[Any], rows: NDArray[np.intp], name: str
) -> None:
    """Refuse NaN, None and NA among the labels of these rows."""
    some = array[rows]
    if some.dtype.kind == "O":
        missing = np.array([_is_missing(value) for value in some], dtype=np.bool_)
    else:
        missing = some != some  # noqa: PLR0124 (NaN)
    if missing.any():
        msg = (
            f"{name} must not be missing; got none in {int(missing.sum())} of "
            f"{array.size} rows, first at row {int(rows[missing.argmax()])}. "
            "Drop the rows without a label."
        )
        raise InvalidLabels(msg)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or value != value  # noqa: PLR0124


def _refuse_positive(
    others: NDArray[Any], positive: Any, name: str, option: str
) -> NoReturn:
    """Raise for a positive label that does not occur, though others do."""
    found = [_shown(label) for label in dict.fromkeys(others.tolist())]
    more = "" if len(found) <= MOST_NAMED else f" and {len(found) - MOST_NAMED} more"
    msg = (
        f"{option} must be among {name}: {', '.join(found[:MOST_NAMED])}{more}; "
        f"got {_shown(positive)}."
    )
    raise InvalidParameter(msg)


def place_among(
    positive: object, classes: NDArray[Any], option: str = "positive"
) -> int:
    """Return the place of the positive class among the classes of a classifier."""
    for place, label in enumerate(classes.tolist()):
        if label == positive:
            return place
    msg = (
        f"{option} must be one of the classes of the classifier, "
        f"{shortened(classes.tolist())}; got {_shown(positive)}."
    )
    raise InvalidParameter(msg)


def as_targets(values: object, name: str = "targets") -> FloatArray:
    """Return one contiguous column of doubles; NaN stands for missing."""
    return _as_doubles(values, name, InvalidTargets)


def as_ends(low: object, high: object) -> tuple[float | None, float | None]:
    """Return the least and the most that a target can be, None if it is not known."""
    ends: list[float | None] = []
    for end, name in ((low, "low"), (high, "high")):
        if end is None:
            ends.append(None)
            continue
        number = _as_number(end)
        if number is None:
            msg = f"{name} must be a finite number or None; got {_repr(end)}."
            raise InvalidType(msg)
        if not np.isfinite(number):
            msg = (
                f"{name} must be a finite number, or None if targets have no such end; "
                f"got {_shown(end)}."
            )
            raise InvalidParameter(msg)
        ends.append(number + 0.0)
    least, most = ends
    if least is not None and most is not None and not 0 < most - least < np.inf:
        msg = (
            "low must be below high, and not infinitely far; "
            f"got low={_shown(low)} and high={_shown(high)}."
        )
        raise InvalidParameter(msg)
    return least, most


def check_scores_and_targets(
    scores: FloatArray,
    targets: FloatArray,
    kept: NDArray[np.bool_],
    low: float | None,
    high: float | None,
) -> None:
    """Refuse NaN among scores, and targets that cannot be, in rows that count."""
    missing = kept & np.isnan(scores)
    if missing.any():
        refuse_missing_scores(
            int(missing.sum()),
            int(missing.argmax()),
            scores.size,
            purpose="calibrating",
        )
    check_targets(targets, kept, low, high)


def check_targets(
    targets: FloatArray,
    kept: NDArray[np.bool_],
    low: float | None,
    high: float | None,
    name: str = "targets",
) -> None:
    """Refuse targets that are not finite, or beyond their ends, in rows that count."""
    bad = kept & ~np.isfinite(targets)
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"{name} must be finite; got {_shown(targets[row])} at row {row} "
            f"({int(bad.sum())} of {targets.size} rows are bad). Drop these rows."
        )
        raise InvalidTargets(msg)
    for end, outside, word, limit in (
        (low, targets < (-np.inf if low is None else low), "below", "low"),
        (high, targets > (np.inf if high is None else high), "above", "high"),
    ):
        beyond = kept & outside
        if beyond.any():
            row = int(beyond.argmax())
            msg = (
                f"{name} must not be {word} {limit}={_shown(end)}; got "
                f"{_shown(targets[row])} at row {row} ({int(beyond.sum())} of "
                f"{targets.size} rows are). Pass the {limit} that targets can have, or "
                f"{limit}=None."
            )
            raise InvalidTargets(msg)


def refuse_few_targets(total: float, least: int, trim: int) -> NoReturn:
    """Raise for fewer targets than are trimmed."""
    msg = (
        f"targets must have a total weight of at least {least} to be trimmed by "
        f"{trim}; got {total:g}. Give low and high if they are known, or more rows."
    )
    raise InvalidTargets(msg)


def refuse_wide_targets(least: float, most: float) -> NoReturn:
    """Raise for targets whose distance is no double."""
    msg = (
        "targets must be less than 1.8e308 apart; "
        f"got {_shown(least)} and {_shown(most)}. Rescale them."
    )
    raise InvalidTargets(msg)


def check_value_bounds(lower: FloatArray, upper: FloatArray) -> None:
    """Refuse bounds of values that are not finite, or cross."""
    check_length(lower.size, upper.size, "lower bounds", "upper bounds")
    good = np.isfinite(lower) & np.isfinite(upper) & (lower <= upper)
    if not good.all():
        row = int((~good).argmax())
        msg = (
            "bounds must be finite, with lower <= upper; "
            f"got ({_shown(lower[row])}, {_shown(upper[row])}) at row {row}."
        )
        raise InvalidTargets(msg)


def as_weights(
    values: object, size: int, name: str = "sample_weight", other: str = "scores"
) -> FloatArray:
    """Return finite weights, none negative, as many as the other; all may be zero."""
    weights = _as_doubles(values, name, InvalidWeights)
    check_length(weights.size, size, name, other)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"{name} must be finite and not negative; got {_shown(weights[row])} "
            f"at row {row} ({int(bad.sum())} of {size} rows are bad). "
            "Use 0 to leave a row out."
        )
        raise InvalidWeights(msg)
    return weights


def as_relative_weights(
    values: object, size: int, name: str = "sample_weight"
) -> FloatArray:
    """Return weights of which only the ratios matter; their squares are doubles.

    Very large and very small ones are divided by a power of two, so that the ratios
    stay the same; all others are left alone, and so are numbers of rows.
    """
    weights = as_weights(values, size, name)
    check_total(weights, name)
    most, least = float(weights.max()), float(weights[weights > 0].min())
    if least < most / LARGEST_WEIGHT_RATIO:
        row = int(np.flatnonzero(weights == least)[0])
        msg = (
            f"{name} must be zero or at least {1 / LARGEST_WEIGHT_RATIO:g} of the "
            f"largest, {most!r}; got {least!r} at row {row}. Use 0 to leave a row out."
        )
        raise InvalidWeights(msg)
    total = weights.sum()
    whole = total < LARGEST_EXACT_INTEGER and (weights == np.floor(weights)).all()
    if whole or LEAST_LARGEST_WEIGHT <= most <= total <= LARGEST_REAL_TOTAL:
        return weights
    scaled: FloatArray = np.ldexp(weights, -np.frexp(most)[1])
    return scaled


def as_bounds(lower: object, upper: object) -> tuple[FloatArray, FloatArray]:
    """Return two arrays of probabilities with lower <= upper, of any one shape."""
    low = as_numbers(lower, "lower bounds")
    up = as_numbers(upper, "upper bounds")
    if low.shape != up.shape:
        msg = (
            "lower and upper bounds must have the same shape; "
            f"got {low.shape} and {up.shape}."
        )
        raise LengthMismatch(msg)
    good = (low >= 0) & (low <= up) & (up <= 1)
    if not good.all():
        where = tuple(map(int, np.argwhere(~good)[0]))
        place = f" at row {where[0]}" if low.ndim == 1 else f" at index {where}"
        msg = (
            "bounds must satisfy 0 <= lower <= upper <= 1; "
            f"got ({_shown(low[where])}, {_shown(up[where])}){place if where else ''}."
        )
        raise InvalidProbabilities(msg)
    return low, up


def as_score_columns(values: object, n_columns: int) -> FloatArray:
    """Return contiguous rows of doubles, a column for each fold; NaN is missing."""
    array = _as_array(values, "scores")
    _refuse_no_array(array, "scores")
    if array.ndim != 2:
        msg = (
            f"scores must be two-dimensional, with K = {n_columns} columns, one a "
            f"fold; got shape {array.shape}. Pass np.column_stack of the K models' "
            "scores."
        )
        raise InvalidScores(msg)
    if array.shape[1] != n_columns:
        msg = (
            f"scores must have K = {n_columns} columns, one a fold; "
            f"got {array.shape[1]}. Pass the scores of each fold's own model, in the "
            "order of the folds."
        )
        raise InvalidScores(msg)
    array = _as_real(array, "scores")
    array = array if array.flags.aligned else array.copy()
    return _exact_doubles(array, "scores", InvalidScores)


def check_rows_exist(n_rows: int) -> None:
    """Refuse scores without rows to calibrate with."""
    if not n_rows:
        msg = "scores must not be empty; got no rows to calibrate with."
        raise InvalidScores(msg)


def as_score_vectors(values: object, n_columns: int | None = None) -> FloatArray:
    """Return contiguous rows of doubles, each a vector of scores; NaN is missing.

    `n_columns` is how many there must be; None: at least one.
    """
    array = _as_array(values, "scores")
    _refuse_no_array(array, "scores")
    if array.ndim != 2:
        fix = "np.column_stack of the models' scores"
        if array.ndim == 1:
            fix += ", or scores.reshape(-1, 1) for a single score"
        msg = (
            "scores must be two-dimensional, with a row for each case and a column for "
            f"each score; got shape {array.shape}. Pass {fix}."
        )
        raise InvalidScores(msg)
    given = array.shape[1]
    if not given:
        msg = f"scores must have at least one column; got shape {array.shape}."
        raise InvalidScores(msg)
    if n_columns not in (None, given):
        msg = (
            f"scores must have {n_columns} columns, as when the rule was fitted; "
            f"got {given}. Pass the same scores in the same order."
        )
        raise InvalidScores(msg)
    array = _as_real(array, "scores")
    array = array if array.flags.aligned else array.copy()
    return _exact_doubles(array, "scores", InvalidScores)


def check_vectors_and_labels(
    scores: FloatArray, labels: LabelArray, kept: NDArray[np.bool_]
) -> None:
    """Refuse rows with a NaN, and labels other than 0 and 1, in rows that count."""
    missing = np.isnan(scores).any(axis=1)
    check_scores_and_labels(np.where(missing, np.nan, 0.0), labels, kept)


def as_directions(value: object, n_columns: int, name: str) -> tuple[bool, ...]:
    """Return True or False for each column, from one for all or one for each."""
    if isinstance(value, bool | np.bool_):
        return (bool(value),) * n_columns
    flags = list(value) if isinstance(value, list | tuple | np.ndarray) else [None]
    if any(not isinstance(flag, bool | np.bool_) for flag in flags):
        msg = f"{name} must be True or False, or a list of these; got {_repr(value)}."
        raise InvalidType(msg)
    if len(flags) != n_columns:
        msg = (
            f"{name} must have one flag for each of the {n_columns} columns of scores; "
            f"got {len(flags)}."
        )
        raise InvalidParameter(msg)
    return tuple(map(bool, flags))


def as_whole_weights(
    values: object, size: int, name: str = "sample_weight", other: str = "scores"
) -> IntArray:
    """Return weights that are whole numbers; all may be zero."""
    weights = as_weights(values, size, name, other)
    broken = weights != np.floor(weights)
    if broken.any():
        row = int(broken.argmax())
        msg = (
            f"{name} must be whole numbers, because partial orders are solved in "
            f"integers; got {_shown(weights[row])} at row {row} ({int(broken.sum())} "
            f"of {size} rows are not). Scale and round them; a new case counts as 1."
        )
        raise InvalidWeights(msg)
    with np.errstate(over="ignore"):
        check_vector_total(weights.sum(), name)
    return weights.astype(np.int64)


def check_vector_total(total: float, name: str) -> None:
    """Refuse more observations than products of 62 bits are exact for."""
    if total >= LARGEST_VECTOR_TOTAL:
        msg = (
            f"{name} must add up to less than 2**32 - 1, because partial orders are "
            f"solved in integers of 64 bits; got {total:.6g}. Scale them down."
        )
        raise InvalidWeights(msg)


def check_vector_points(n_points: int, n_columns: int) -> None:
    """Refuse more points than can be compared in pairs, or be numbered."""
    if n_columns > 2 and n_points > MOST_VECTORS:
        msg = (
            f"with {n_columns} columns of scores there must be at most {MOST_VECTORS} "
            f"different rows, because all pairs are compared; got {n_points}. Use a "
            "random part of the rows, round the scores, or take two columns, which "
            "have no such limit."
        )
        raise InvalidScores(msg)
    if n_points > MOST_NUMBERED:
        msg = (
            f"scores must have at most {MOST_NUMBERED} different rows; got {n_points}. "
            "Use a random part of the rows, or round the scores."
        )
        raise InvalidScores(msg)


def as_folds(values: object, size: int) -> IntArray:
    """Return the fold of each row: integers from 0 on, without gaps."""
    folds = _as_column(values, "folds", InvalidFolds)
    check_length(folds.size, size, "folds", "scores")
    bad = ~np.isfinite(folds) | (folds != np.floor(folds))
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"folds must be integers; got {_shown(folds[row])} at row {row}. "
            f"{_RENUMBER}"
        )
        raise InvalidFolds(msg)
    lowest, highest = folds.min().item(), folds.max().item()
    if (
        lowest < 0
        or highest >= size
        or (np.bincount(folds.astype(np.int64)) == 0).any()
    ):
        msg = (
            "folds must be numbered 0 … K - 1 without gaps; "
            f"got {np.unique(folds).size} numbers from {lowest:g} to {highest:g}. "
            f"{_RENUMBER}"
        )
        raise InvalidFolds(msg)
    return np.ascontiguousarray(folds, dtype=np.int64)


def check_folds_exist(n_folds: int) -> None:
    """Refuse a pooled rule of no folds at all."""
    if not n_folds:
        msg = "diagrams must not be empty; got no fold."
        raise InvalidFolds(msg)


def as_fraction(value: object, name: str) -> Fraction:
    """Return a positive fraction, from an integer, a Fraction or a float 1/m."""
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, Rational | float | np.integer | np.floating
    ):
        msg = f"{name} must be a positive number; got {_repr(value)}."
        raise InvalidType(msg)
    fraction = _simple_fraction(value)
    if fraction is None:
        near = _nearby_fraction(value)
        msg = (
            f"{name} must be a positive integer, a fractions.Fraction, or a float that "
            f"is 1/m for an integer m; got {_shown(value)}, which is no such fraction. "
            f"Pass fractions.Fraction, for example {near!r}."
        )
        raise InvalidParameter(msg)
    if not is_weight_of_a_case(fraction):
        msg = (
            f"{name} must be a fraction whose numerator and denominator add up to at "
            f"most 2**53; got {shortened(value)}. Round it."
        )
        raise InvalidParameter(msg)
    return fraction


def is_weight_of_a_case(fraction: Fraction) -> bool:
    """Tell whether a new case may weigh so much beside rows of weight 1."""
    return 0 < fraction.numerator + fraction.denominator <= LARGEST_EXACT_INTEGER


def _simple_fraction(value: Any) -> Fraction | None:
    """Read a positive fraction without guessing; None if there is none."""
    if not 0 < value < np.inf:
        return None
    if isinstance(value, Rational):  # ints of numpy are registered as such
        return Fraction(int(value.numerator), int(value.denominator))
    number = float(value)
    if number.is_integer():
        return Fraction(int(number))
    if number * LARGEST_EXACT_INTEGER < 1:
        return None
    part = round(1 / number)
    return Fraction(1, part) if part and 1 / part == number else None


def _nearby_fraction(value: Any) -> Fraction:
    """Suggest what may be meant."""
    guess = Fraction(0)
    if np.isfinite(float(value)):
        guess = Fraction(float(value)).limit_denominator(1000)
    return guess if guess > 0 else Fraction(1, 2)


def as_numbers(values: object, name: str) -> FloatArray:
    """Return doubles of any shape; NaN stands for missing."""
    array = _as_array(values, name)
    _refuse_no_array(array, name)
    return np.asarray(_as_real(array, name), dtype=np.float64)


def as_count(value: object, name: str) -> int:
    """Return a number of things: an integer, not negative."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        msg = f"{name} must be an integer, not negative; got {_repr(value)}."
        raise InvalidParameter(msg)
    return int(value)


def as_number_of_rows(value: object, name: str) -> int:
    """Return a number of rows: one that doubles can count up to."""
    count = as_count(value, name)
    if count >= LARGEST_EXACT_INTEGER:
        msg = f"{name} must be below 2**53; got {_repr(value)}."
        raise InvalidParameter(msg)
    return count


def as_rows(values: object, name: str = "rows") -> IntArray:
    """Return row numbers: integers, none negative."""
    rows = _as_column(values, name, InvalidParameter)
    bad = ~np.isfinite(rows) | (rows != np.floor(rows)) | (rows < 0)
    if bad.any():
        at = int(bad.argmax())
        msg = (
            f"{name} must be integers, none negative; got {_shown(rows[at])} at place "
            f"{at}."
        )
        raise InvalidParameter(msg)
    return np.ascontiguousarray(rows, dtype=np.int64)


def as_flag(value: object, name: str) -> bool:
    """Return a Python bool; numbers and text are too easily meant otherwise."""
    if not isinstance(value, bool | np.bool_):
        msg = f"{name} must be True or False; got {_repr(value)}."
        raise InvalidType(msg)
    return bool(value)


def check_total(weights: FloatArray | IntArray, name: str) -> None:
    """Refuse weights that add up to nothing, or to more than a double can hold."""
    if not weights.any():
        msg = f"{name} must not all be zero; got no row that counts."
        raise InvalidWeights(msg)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total == np.inf:
        msg = f"{name} must have a finite total; got inf. Scale them to a mean of 1."
        raise InvalidWeights(msg)


def as_threads(value: object, name: str = "n_threads") -> int:
    """Return a number of threads: a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        msg = f"{name} must be a positive integer; got {_repr(value)}."
        raise InvalidParameter(msg)
    return min(int(value), MOST_THREADS)


def check_type(value: object, wanted: type, name: str) -> None:
    """Refuse what is not an instance of the one class that will do."""
    if not isinstance(value, wanted):
        msg = f"{name} must be a {wanted.__name__}; got a {type(value).__name__}."
        raise InvalidType(msg)


def check_state(state: object, names: tuple[str, ...], owner: str) -> None:
    """Refuse what is no state to restore an object from."""
    if not isinstance(state, dict) or set(state) != set(names):
        got = sorted(map(str, state)) if isinstance(state, dict) else state
        msg = (
            f"the state of a {owner} must hold {', '.join(names)}; "
            f"got {shortened(got)}."
        )
        raise InvalidParameter(msg)
    if "metadata" in names:
        check_type(state["metadata"], dict, "metadata")


def check_ascending(values: FloatArray, name: str, *, ties: bool = False) -> None:
    """Refuse numbers that fall, or NaN among them; and ties, if they are not meant."""
    below, above = values[:-1], values[1:]
    rising = above >= below if ties else above > below
    if not rising.all() or np.isnan(values).any():
        msg = f"{name} must be ascending{'' if ties else ' and distinct'} numbers."
        raise InvalidScores(msg)


def check_choice(value: object, choices: tuple[str, ...], name: str) -> None:
    """Refuse an option that is not offered."""
    if value not in choices:
        offered = " or ".join(repr(choice) for choice in choices)
        msg = f"{name} must be {offered}; got {_repr(value)}."
        raise InvalidParameter(msg)


def check_length(size: int, expected: int, name: str, other: str) -> None:
    """Refuse two columns of different length."""
    if size != expected:
        msg = (
            f"{name} and {other} must be equally long; "
            f"got {size} {name} and {expected} {other}."
        )
        raise LengthMismatch(msg)


def check_scores_and_labels(
    scores: FloatArray, labels: LabelArray, kept: NDArray[np.bool_]
) -> None:
    """Refuse NaN among scores, and labels other than 0 and 1, in rows that count."""
    missing = kept & np.isnan(scores)
    if missing.any():
        refuse_missing_scores(
            int(missing.sum()),
            int(missing.argmax()),
            scores.size,
            purpose="calibrating",
        )
    bad = kept & (labels != 0) & (labels != 1)
    if bad.any():
        refuse_bad_labels(labels, int(bad.sum()), int(bad.argmax()))


def refuse_missing_scores(
    count: int, first: int, size: int, *, name: str = "scores", purpose: str
) -> NoReturn:
    """Raise for scores that are NaN; `purpose` ends the advice."""
    msg = (
        f"{name} must not be NaN; got NaN in {count} of {size} rows, first at row "
        f"{first}. Drop or impute these rows before {purpose}."
    )
    raise InvalidScores(msg)


def refuse_unreadable(values: object, cause: Exception, name: str) -> NoReturn:
    """Raise for an object that numpy cannot read; torch has its own way to arrays."""
    reason = str(cause).partition("\n")[0].rstrip(".")
    way = "Pass a copy of it in the memory of the CPU, as an array of numpy."
    if hasattr(values, "detach"):
        way = "Of a torch tensor pass tensor.detach().cpu().double().numpy()."
    msg = (
        f"{name} must be numbers that numpy can read; the {type(values).__name__} "
        f"given says: {reason}. {way}"
    )
    raise InvalidType(msg) from cause


def refuse_bad_labels(
    labels: LabelArray, count: int, first: int, *, takes_positive: bool = False
) -> NoReturn:
    """Raise for labels that are neither 0 nor 1, with advice for the usual ones."""
    value = labels[first]
    if value != value:  # noqa: PLR0124 (NaN)
        what, advice = "NaN", "Drop the rows without a label."
    elif takes_positive:
        what, last = _shown(value), _shown(np.nanmax(labels))
        advice = f"Say which of two labels is the positive one, as positive={last}."
    elif np.isin(labels, (-1, 1)).all():
        what, advice = _shown(value), "For labels -1 and 1 pass labels > 0."
    else:
        what = _shown(value)
        advice = "Pass 1 for the positive class and 0 for the rest."
    msg = (
        f"labels must be 0 or 1; got {what} at row {first} "
        f"({count} of {labels.size} rows are neither). {advice}"
    )
    raise InvalidLabels(msg)


def _as_doubles(values: object, name: str, error: type[ValueError]) -> FloatArray:
    """Return one contiguous column of doubles.

    Numbers that no double can hold are refused, never rounded: two scores that
    differ must not become a tie.
    """
    return _exact_doubles(_as_column(values, name, error), name, error)


def _exact_doubles(
    array: NDArray[Any], name: str, error: type[ValueError]
) -> FloatArray:
    """Return contiguous doubles; refuse what they cannot hold."""
    if array.dtype.kind == "f" and array.dtype.itemsize > np.dtype(float).itemsize:
        msg = (
            f"{name} must fit into 64-bit floats; got {array.dtype}. "
            f"Convert them yourself if rounding is acceptable."
        )
        raise InvalidType(msg)
    if array.dtype.kind in "iu" and array.size:
        magnitude = max(int(array.max()), -int(array.min()))
        if magnitude > LARGEST_EXACT_INTEGER:
            msg = (
                f"{name} given as integers must not exceed 2**53 in size, because "
                f"larger ones collide as floats; got {magnitude}. Rescale them."
            )
            raise error(msg)
    return np.ascontiguousarray(array, dtype=np.float64)


def _as_column(values: object, name: str, error: type[ValueError]) -> NDArray[Any]:
    """Turn anything column-like into a one-dimensional array of plain numbers."""
    return _as_plain_column(_as_array(values, name), name, error)


def _as_plain_column(
    array: NDArray[Any], name: str, error: type[ValueError]
) -> NDArray[Any]:
    """Return a one-dimensional, aligned array of plain numbers."""
    if array.ndim == 0 and array.dtype.kind not in "biuf":
        msg = f"{name} must be one column of numbers; got {shortened(array.item())}."
        raise InvalidType(msg)
    if array.ndim != 1:
        hint = _way_to_one_column(array.shape, error)
        msg = f"{name} must be one-dimensional; got shape {array.shape}. {hint}"
        raise error(msg)
    array = _as_real(array, name)
    return array if array.flags.aligned else array.copy()  # the kernel reads doubles


def _way_to_one_column(shape: tuple[int, ...], error: type[ValueError]) -> str:
    """Say what to do with what is no column; it works for lists and frames, too."""
    if len(shape) > 1:
        column = 0 if shape[1] == 1 else 1
        return f"Pass one column, for example np.asarray(values)[:, {column}]."
    if error is InvalidScores:
        return "Put a single number into a list."
    names: dict[type[ValueError], str] = {
        InvalidWeights: "weight",
        InvalidFolds: "fold",
        InvalidTargets: "target",
    }
    what = names.get(error, "label")
    return f"Pass one {what} for each row."


def _refuse_text(labels: NDArray[Any], name: str, option: str | None) -> None:
    """Refuse labels that are text, and say how to make 0 and 1 of them."""
    if labels.ndim != 1 or labels.dtype.kind not in "OSU":
        return
    texts = {row: v for row, v in enumerate(labels) if isinstance(v, str | bytes)}
    if not texts:
        return
    row, first = next(iter(texts.items()))
    # The last in order is the one that scikit-learn would take for positive.
    positive = max(texts.values(), key=lambda text: (str(type(text)), text))
    way = f"np.asarray({name}) == {_shown(positive)}"
    if option:
        way = f"{option}={_shown(positive)}"
    msg = (
        f"{name} must be 0 or 1, or bool; got {_shown(first)} at row {row}. If "
        f"{_shown(positive)} is the positive class, pass {way}."
    )
    raise InvalidType(msg)


def _as_array(values: object, name: str) -> NDArray[Any]:
    if type(values) is np.ndarray:  # asked first: `np.ma` is slow to load
        return values.astype(object) if values.dtype.kind == "T" else values
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.is_masked(values):
            return values.data
        array = values.data.astype(object)
        array[values.mask] = None
        return array
    if isinstance(values, np.ndarray):
        return values
    if not isinstance(values, list | tuple):
        values = _unwrapped_series(values, name)
    try:
        array = np.asarray(values)
        # Among text, numpy turns numbers into text: look at what really came.
        return np.asarray(values, dtype=object) if array.dtype.kind in "SU" else array
    except Exception as cause:  # `__array__` of others may raise anything
        if isinstance(cause, ValueError) and isinstance(values, list | tuple):
            msg = f"{name} must have rows of one length; got rows of different lengths."
            raise InvalidType(msg) from cause
        refuse_unreadable(values, cause, name)


def through_protocol(values: object, name: str) -> object:
    """Read a column that another library offers by Arrow's or DLPack's protocol.

    What numpy, narwhals or Python can read itself stays as it is.
    """
    if isinstance(values, np.ndarray | list | tuple) or hasattr(values, "__array__"):
        return values
    try:
        if hasattr(values, "__arrow_c_array__"):
            return _arrow().chunked_array([_arrow().array(values)])
        if hasattr(values, "__arrow_c_stream__"):
            return _arrow().chunked_array(values)
        return np.from_dlpack(values) if hasattr(values, "__dlpack__") else values
    except MissingExtra:
        raise
    except Exception as cause:  # noqa: BLE001 (others may raise anything)
        refuse_unreadable(values, cause, name)


def _arrow() -> Any:
    need("pyarrow", extra="cli", what="A column by Arrow's protocol")
    import pyarrow as pa

    return pa


def _refuse_no_array(array: NDArray[Any], name: str) -> None:
    """Refuse what numpy takes for one object: None, a generator, a sparse matrix."""
    if array.ndim or array.dtype.kind != "O" or isinstance(array.item(), Number):
        return
    value = array.item()
    got = "None" if value is None else f"a {type(value).__name__}"
    way = " Pass its toarray()." if hasattr(value, "toarray") else ""
    msg = f"{name} must be an array of numbers; got {got}.{way}"
    raise InvalidType(msg)


def _without_categories(values: object, name: str) -> object:
    """Read a column of categories or text; leave anything else as it is."""
    if isinstance(values, np.ndarray | list | tuple):
        return values
    import narwhals as nw

    values = through_protocol(values, name)
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and isinstance(
        series.dtype, nw.Categorical | nw.Enum | nw.String
    ):
        return series.to_numpy()
    return values


def _unwrapped_series(values: object, name: str) -> object:
    """Read a column of any dataframe library; nulls of numbers become NaN."""
    import narwhals as nw

    values = through_protocol(values, name)
    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return values
    if series.dtype == nw.Object:
        return series.to_numpy()
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        msg = f"{name} must be real numbers; got a column of {series.dtype}."
        raise InvalidType(msg)
    if series.null_count() or series.dtype.is_decimal():
        series = series.cast(nw.Float64)
    return series.to_numpy()


def _as_real(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return an array of bools, integers or floats, from objects if need be."""
    if array.dtype.kind == "O":
        numbers = [_as_float(value, row, name) for row, value in enumerate(array.flat)]
        return np.array(numbers, dtype=np.float64).reshape(array.shape)
    if array.dtype.kind not in "biuf":
        shown = f", for example {array.flat[0].item()!r}" if array.size else ""
        msg = f"{name} must be real numbers; got {array.dtype}{shown}."
        raise InvalidType(msg)
    return array


def _as_float(value: Any, row: int, name: str) -> float:
    """Turn a Python object into a float; text is not a number, however it reads."""
    if value is None or type(value).__name__ == "NAType":  # pandas.NA
        return np.nan
    try:
        number = None if isinstance(value, _NOT_REAL) else float(value)
    except (TypeError, ValueError):
        number = None
    except OverflowError:
        number = np.inf
    if number is None:
        msg = f"{name} must be real numbers; got {_repr(value)} at row {row}."
        raise InvalidType(msg)
    if isinstance(value, Integral) and number != int(value):
        msg = (
            f"{name} must fit into 64-bit floats; got {shortened(value)} at row {row}."
        )
        raise InvalidType(msg)
    return number


def _as_number(value: Any) -> float | None:
    """Return one real number as a float; None for text, truth values and arrays."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer that no double holds, of either sign
        return np.inf


def _shown(value: Any) -> str:
    """Show a number as the user would type it: no numpy wrapper around it."""
    if getattr(value, "shape", ()):
        return f"an array of shape {value.shape}"
    if hasattr(value, "item"):
        value = value.item()
    return shortened(value) if isinstance(value, int) else _repr(value)


def _repr(value: Any) -> str:
    """Show an object, whatever its `__repr__` raises: a message must survive it."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001
        return f"a {type(value).__name__}"


def as_probabilities(
    values: object, name: str = "p", *, may_be_empty: bool = False
) -> FloatArray:
    """Return a column of numbers between 0 and 1; at least one, unless none will do."""
    p = as_scores(values, name)
    bad: NDArray[np.bool_] = ~((p >= 0) & (p <= 1))
    if bad.any():
        row = int(bad.argmax())
        msg = f"{name} must be between 0 and 1; got {p[row].item()!r} at row {row}."
        raise InvalidProbabilities(msg)
    if not (p.size or may_be_empty):
        msg = f"{name} must not be empty; got no rows."
        raise InvalidProbabilities(msg)
    return p


def check_bins(bins: int) -> None:
    """Refuse a number of bins that is not a positive integer."""
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        msg = f"bins must be a positive integer; got {_repr(bins)}."
        raise InvalidParameter(msg)


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that no band can have."""
    if not 0 < confidence < 1:
        msg = f"confidence must be between 0 and 1; got {_repr(confidence)}."
        raise InvalidParameter(msg)


def as_class_probabilities(values: object, name: str = "p") -> FloatArray:
    """Return rows of probabilities, a column a class, that add up to 1 each."""
    p = as_numbers(values, name)
    if p.ndim != 2 or p.shape[1] < 2 or not p.size:
        msg = (
            f"{name} must have shape (n, C): a row for each case, a column for each "
            f"class; got {p.shape}."
        )
        raise InvalidProbabilities(msg)
    outside = ~((p >= 0) & (p <= 1))
    if outside.any():
        row, column = map(int, np.argwhere(outside)[0])
        msg = (
            f"{name} must be between 0 and 1; got {p[row, column].item()!r} in column "
            f"{column} of row {row}."
        )
        raise InvalidProbabilities(msg)
    sums = p.sum(axis=1)
    bad = abs(sums - 1) > p.shape[1] * ROUNDING + FUZZ
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"{name} must add up to 1 in each row; got {sums[row].item():.6g} in row "
            f"{row} ({int(bad.sum())} of {sums.size} rows do not). "
            "Divide each row by its sum."
        )
        raise InvalidProbabilities(msg)
    return p


def as_classes(values: object, n_columns: int, y: object, name: str) -> list[Any]:
    """Return the label of each column of probabilities; those of y if None is given."""
    if values is None:
        column = _label_column(y, "y")
        refuse_missing_labels(column, np.arange(column.size), "y")
        found = sorted(
            set(column.tolist()), key=lambda label: (str(type(label)), label)
        )
        if len(found) != n_columns:
            msg = (
                f"{name} has {n_columns} columns, and y {len(found)} classes. Pass "
                "classes, the labels in the order of the columns."
            )
            raise InvalidLabels(msg)
        return found
    labels: list[Any] = _label_column(values, "classes").tolist()
    if len(set(labels)) != len(labels) or len(labels) != n_columns:
        msg = (
            f"classes must be {n_columns} different labels, one for each column of "
            f"{name}; got {shortened(labels)}."
        )
        raise InvalidParameter(msg)
    return labels


def class_places(y: object, classes: list[Any]) -> IntArray:
    """Return the place of each label among the classes; all must be among these."""
    labels = _label_column(y, "y")
    place_of = {label: place for place, label in enumerate(classes)}
    try:
        places = [place_of.get(label, -1) for label in labels.tolist()]
    except TypeError as unhashable:
        msg = "y must be one column of labels; got rows that are lists."
        raise InvalidLabels(msg) from unhashable
    found = np.array(places, dtype=np.int64)
    if (found < 0).any():
        refuse_missing_labels(labels, np.arange(labels.size), "y")
        row = int((found < 0).argmax())
        msg = (
            f"y must be among the classes, {shortened(classes)}; got "
            f"{_shown(labels[row])} at row {row}."
        )
        raise InvalidLabels(msg)
    return found


def as_costs(values: object, n_classes: int) -> FloatArray:
    """Return what each action costs for each class: finite, two actions or more."""
    costs = as_numbers(values, "costs")
    if costs.ndim != 2 or len(costs) < 2 or costs.shape[1] != n_classes:
        msg = (
            f"costs must have two rows or more, one an action, and {n_classes} "
            f"columns, one a class; got shape {costs.shape}. For two classes pass "
            "[[0, miss], [false_alarm, 0]]."
        )
        raise InvalidParameter(msg)
    bad = ~np.isfinite(costs)
    if bad.any():
        row, column = map(int, np.argwhere(bad)[0])
        msg = (
            f"costs must be finite numbers; got {_shown(costs[row, column])} for "
            f"action {row} and class {column}."
        )
        raise InvalidParameter(msg)
    return costs


def as_cost(value: object, name: str, *, positive: bool = False) -> float:
    """Return one finite number; no text and no truth value."""
    number = _as_number(value)
    if number is None or not np.isfinite(number) or (positive and number <= 0):
        what = "a positive number" if positive else "a finite number"
        msg = f"{name} must be {what}; got {_shown(value)}."
        raise InvalidParameter(msg)
    return number


def as_rate(value: object, name: str) -> float:
    """Return a base rate: a number above 0 and below 1."""
    rate = _as_number(value)
    if rate is None or not 0 < rate < 1:
        msg = (
            f"{name} must be a share of positives, above 0 and below 1; "
            f"got {_shown(value)}."
        )
        raise InvalidParameter(msg)
    return rate
