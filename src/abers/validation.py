"""Every check of user input, and every message that it may raise.

A function here takes what the user passed and returns what the kernel needs: contiguous
arrays of one type. All conversions happen here. The kernel looks for NaN and bad labels
in passes that it makes anyway, and reports them; their messages are here, too.
"""

from __future__ import annotations

from decimal import Decimal
from numbers import Integral, Number, Real
from reprlib import repr as shortened
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from abers.errors import InvalidData, InvalidParameter, InvalidType, MissingExtra, need

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LabelArray = NDArray[np.bool_] | IntArray | FloatArray

LARGEST_EXACT_INTEGER = 2**53  # up to here, every integer is a double
LARGEST_WEIGHT_RATIO = 1e140  # beyond, squares of shares underflow
LARGEST_REAL_TOTAL = 2.0**32  # of relative weights that are left alone, unless the
LEAST_LARGEST_WEIGHT = 2.0**-20  # largest of them is less than this
MOST_THREADS = 256  # the kernel starts no more
MOST_NAMED = 5  # labels in one message
THREE_DIGITS = 0.5e-3  # rounding error of a probability with three digits
FUZZ = 1e-9  # of sums of doubles, far above their rounding errors

_ROW_NOUNS = {
    "sample_weight": "weight",
    "folds": "fold",
    "targets": "target",
    "labels": "label",
    "y": "label",
}
_NOT_REAL = (str, bytes, complex, np.complexfloating)  # though float() accepts some


def as_scores(values: object, name: str = "scores") -> FloatArray:
    """Return one contiguous column of doubles; NaN stands for missing."""
    if type(values) is np.ndarray and values.dtype == np.float64 and values.ndim == 1:
        flags = values.flags
        if flags.c_contiguous and flags.aligned:
            return values
    return exact_doubles(_column(values, name), name)


def as_column(values: object, name: str) -> NDArray[Any]:
    """Return a one-dimensional array of bools, integers or floats."""
    return _as_real(_column(values, name), name)


def as_table(values: object, name: str) -> NDArray[Any]:
    """Return an array of any shape and type; None and the like are refused."""
    array = _as_array(values, name)
    if array.ndim or array.dtype.kind != "O" or isinstance(array.item(), Number):
        return array
    value = array.item()  # numpy takes a generator and a sparse matrix for one object
    got = "None" if value is None else f"a {type(value).__name__}"
    way = " Pass its toarray()." if hasattr(value, "toarray") else ""
    msg = f"{name} must be an array of numbers; got {got}.{way}"
    raise InvalidType(msg)


def exact_doubles(array: NDArray[Any], name: str) -> FloatArray:
    """Return contiguous doubles.

    Numbers that are not exact doubles are refused, never rounded: two different scores
    must not become a tie.
    """
    array = _as_real(array, name)
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
            raise InvalidData(msg)
    return np.ascontiguousarray(array, dtype=np.float64)


def as_calibration_scores(values: object) -> FloatArray:
    """Return calibration scores: at least one."""
    scores = as_scores(values)
    check_rows_exist(scores.size)
    return scores


def as_labels(
    values: object, name: str = "labels", *, option: str | None = None
) -> LabelArray:
    """Return one contiguous column of bools, 64-bit integers or doubles.

    `option` is the caller's name for the parameter that chooses one of two labels.
    """
    given = _as_array(values, name, text=True)
    # With other names, there may be more than two classes.
    if option or name == "labels":
        _refuse_text(given, name, option)
    array = as_column(given, name)
    kinds = {"b": np.bool_, "i": np.int64, "u": np.int64}
    return np.ascontiguousarray(array, dtype=kinds.get(array.dtype.kind, np.float64))


def binary_labels(
    labels: object,
    pos_label: object | None,
    name: str = "labels",
    *,
    counted: NDArray[np.bool_] | None = None,
    option: str = "pos_label",
) -> tuple[LabelArray, Any]:
    """Return labels as 0 and 1, and the label that counts as 1, for any two labels.

    Without a `pos_label`, the result of `as_labels` is returned, and None. With one,
    the rows `counted` must have one of two labels; None stands for all rows. `option`
    is the caller's name for `pos_label`.
    """
    if pos_label is None:
        return as_labels(labels, name, option=option), None
    array = _column(labels, name, text=True)
    wanted = pos_label.item() if isinstance(pos_label, np.generic) else pos_label
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
                f"{name} must have two values; got {shown(array[row])} at row {row}, "
                f"besides {shown(wanted)} and {shown(others[0])}. To set one against "
                f"all others, pass np.asarray({name}) == {shown(wanted)}."
            )
            raise InvalidData(msg)
    return ones, wanted


def refuse_missing_labels(
    array: NDArray[Any], rows: NDArray[np.intp], name: str
) -> None:
    """Raise for NaN, None and NA among the labels of these rows."""
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
        raise InvalidData(msg)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or value != value  # noqa: PLR0124


def _refuse_positive(
    others: NDArray[Any], pos_label: Any, name: str, option: str
) -> NoReturn:
    """Raise if the positive label does not occur, but others do."""
    labels = [shown(label) for label in dict.fromkeys(others.tolist())]
    more = "" if len(labels) <= MOST_NAMED else f" and {len(labels) - MOST_NAMED} more"
    msg = (
        f"{option} must be among {name}: {', '.join(labels[:MOST_NAMED])}{more}; "
        f"got {shown(pos_label)}."
    )
    raise InvalidParameter(msg)


def place_among(
    pos_label: object, classes: NDArray[Any], option: str = "pos_label"
) -> int:
    """Return the index of the positive class among the classes of a classifier."""
    for place, label in enumerate(classes.tolist()):
        if label == pos_label:
            return place
    msg = (
        f"{option} must be one of the classes of the classifier, "
        f"{shortened(classes.tolist())}; got {shown(pos_label)}."
    )
    raise InvalidParameter(msg)


def as_weights(
    values: object, size: int, name: str = "sample_weight", other: str = "scores"
) -> FloatArray:
    """Return finite nonnegative weights, one per row; all may be zero."""
    weights = as_scores(values, name)
    check_length(weights.size, size, name, other)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"{name} must be finite and not negative; got {shown(weights[row])} "
            f"at row {row} ({int(bad.sum())} of {size} rows are bad). "
            "Use 0 to leave a row out."
        )
        raise InvalidData(msg)
    return weights


def as_relative_weights(
    values: object, size: int, name: str = "sample_weight"
) -> FloatArray:
    """Return weights of which only ratios matter, scaled so that no square overflows.

    Very large and very small weights are divided by a power of two, which keeps the
    ratios; others, and row counts, are unchanged.
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
        raise InvalidData(msg)
    total = weights.sum()
    whole = total < LARGEST_EXACT_INTEGER and (weights == np.floor(weights)).all()
    if whole or LEAST_LARGEST_WEIGHT <= most <= total <= LARGEST_REAL_TOTAL:
        return weights
    scaled: FloatArray = np.ldexp(weights, -np.frexp(most)[1])
    return scaled


def as_bounds(lower: object, upper: object) -> tuple[FloatArray, FloatArray]:
    """Return two arrays of probabilities of one shape, with lower <= upper."""
    low = as_numbers(lower, "lower bounds")
    up = as_numbers(upper, "upper bounds")
    if low.shape != up.shape:
        msg = (
            "lower and upper bounds must have the same shape; "
            f"got {low.shape} and {up.shape}."
        )
        raise InvalidData(msg)
    good = (low >= 0) & (low <= up) & (up <= 1)
    if not good.all():
        where = tuple(map(int, np.argwhere(~good)[0]))
        place = f" at row {where[0]}" if low.ndim == 1 else f" at index {where}"
        msg = (
            "bounds must satisfy 0 <= lower <= upper <= 1; "
            f"got ({shown(low[where])}, {shown(up[where])}){place if where else ''}."
        )
        raise InvalidData(msg)
    return low, up


def check_rows_exist(n_rows: int) -> None:
    """Raise if there are no rows to calibrate with."""
    if not n_rows:
        msg = "scores must not be empty; got no rows to calibrate with."
        raise InvalidData(msg)


def as_numbers(values: object, name: str) -> FloatArray:
    """Return doubles of any shape; NaN stands for missing."""
    return np.asarray(_as_real(as_table(values, name), name), dtype=np.float64)


def as_count(value: Any, name: str) -> int:
    """Return a count: a nonnegative integer."""
    if not _is_integer(value, least=0):
        msg = f"{name} must be an integer, not negative; got {shown_object(value)}."
        raise InvalidParameter(msg)
    return int(value)


def as_number_of_rows(value: object, name: str) -> int:
    """Return a number of rows that a double can represent."""
    count = as_count(value, name)
    if count >= LARGEST_EXACT_INTEGER:
        msg = f"{name} must be below 2**53; got {shown_object(value)}."
        raise InvalidParameter(msg)
    return count


def as_rows(values: object, name: str = "rows") -> IntArray:
    """Return row numbers: nonnegative integers."""
    rows = as_column(values, name)
    bad = ~np.isfinite(rows) | (rows != np.floor(rows)) | (rows < 0)
    if bad.any():
        at = int(bad.argmax())
        msg = (
            f"{name} must be integers, none negative; got {shown(rows[at])} at place "
            f"{at}."
        )
        raise InvalidParameter(msg)
    return np.ascontiguousarray(rows, dtype=np.int64)


def as_flag(value: object, name: str) -> bool:
    """Return a Python bool; numbers and text might have been meant otherwise."""
    if not isinstance(value, bool | np.bool_):
        msg = f"{name} must be True or False; got {shown_object(value)}."
        raise InvalidType(msg)
    return bool(value)


def check_total(weights: FloatArray | IntArray, name: str) -> None:
    """Raise for weights that add up to 0, or to more than a double can hold."""
    if not weights.any():
        msg = f"{name} must not all be zero; got no row that counts."
        raise InvalidData(msg)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total == np.inf:
        msg = f"{name} must have a finite total; got inf. Scale them to a mean of 1."
        raise InvalidData(msg)


def as_threads(value: Any, name: str = "n_threads") -> int:
    """Return a number of threads: a positive integer."""
    check_positive_integer(value, name)
    return min(int(value), MOST_THREADS)


def check_positive_integer(value: object, name: str) -> None:
    """Raise unless this is a positive integer."""
    if not _is_integer(value, least=1):
        msg = f"{name} must be a positive integer; got {shown_object(value)}."
        raise InvalidParameter(msg)


def _is_integer(value: Any, *, least: int) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    return bool(value >= least)


def check_type(value: object, wanted: type, name: str) -> None:
    """Raise unless this is an instance of the required class."""
    if not isinstance(value, wanted):
        msg = f"{name} must be a {wanted.__name__}; got a {type(value).__name__}."
        raise InvalidType(msg)


def check_choice(value: object, choices: tuple[str, ...], name: str) -> None:
    """Raise for a value that is not among the choices."""
    if value not in choices:
        offered = " or ".join(repr(choice) for choice in choices)
        msg = f"{name} must be {offered}; got {shown_object(value)}."
        raise InvalidParameter(msg)


def check_length(size: int, expected: int, name: str, other: str) -> None:
    """Raise if two columns have different lengths."""
    if size != expected:
        msg = (
            f"{name} and {other} must be equally long; "
            f"got {size} {name} and {expected} {other}."
        )
        raise InvalidData(msg)


def check_scores_and_labels(
    scores: FloatArray, labels: LabelArray, kept: NDArray[np.bool_] | None = None
) -> None:
    """Raise for NaN scores, and for labels other than 0 and 1, in rows that count."""
    check_scores(scores, kept)
    as_ones(labels, kept)


def as_ones(
    labels: LabelArray,
    kept: NDArray[np.bool_] | None = None,
    *,
    takes_positive: bool = False,
) -> NDArray[np.bool_]:
    """Return which labels are 1; the others, of rows that count, must be 0."""
    ones: NDArray[np.bool_] = labels == 1
    bad = ~ones & (labels != 0)
    if kept is not None:
        bad &= kept
    if bad.any():
        n_bad, first = int(bad.sum()), int(bad.argmax())
        refuse_bad_labels(labels, n_bad, first, takes_positive=takes_positive)
    return ones


def check_scores(
    scores: FloatArray,
    kept: NDArray[np.bool_] | None = None,
    *,
    name: str = "scores",
    purpose: str = "calibrating",
) -> None:
    """Raise for NaN scores in rows that count: `kept`, or all if it is None."""
    missing = np.isnan(scores)
    if missing.ndim > 1:
        missing = np.logical_or.reduce(missing, axis=tuple(range(1, missing.ndim)))
    if kept is not None:
        missing &= kept
    if missing.any():
        count, first = int(missing.sum()), int(missing.argmax())
        refuse_missing_scores(count, first, len(scores), name=name, purpose=purpose)


def refuse_missing_scores(
    count: int, first: int, size: int, *, name: str = "scores", purpose: str
) -> NoReturn:
    """Raise for scores that are NaN; `purpose` ends the advice."""
    msg = (
        f"{name} must not be NaN; got NaN in {count} of {size} rows, first at row "
        f"{first}. Drop or impute these rows before {purpose}."
    )
    raise InvalidData(msg)


def refuse_unreadable(values: object, cause: Exception, name: str) -> NoReturn:
    """Raise for an object that numpy cannot read, with advice for torch tensors."""
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
    """Raise for labels that are neither 0 nor 1, with advice for common ones."""
    value = labels[first]
    if value != value:  # noqa: PLR0124 (NaN)
        what, advice = "NaN", "Drop the rows without a label."
    elif takes_positive:
        what, last = shown(value), shown(np.nanmax(labels))
        advice = f"Say which of two labels is the positive one, as pos_label={last}."
    elif np.isin(labels, (-1, 1)).all():
        what, advice = shown(value), "For labels -1 and 1 pass labels > 0."
    else:
        what = shown(value)
        advice = "Pass 1 for the positive class and 0 for the rest."
    msg = (
        f"labels must be 0 or 1; got {what} at row {first} "
        f"({count} of {labels.size} rows are neither). {advice}"
    )
    raise InvalidData(msg)


def _column(values: object, name: str, *, text: bool = False) -> NDArray[Any]:
    """Return a single column of any type; advice for lists and frames, too."""
    array = _as_array(values, name, text=text)
    if array.ndim == 1:
        return array
    if array.ndim == 0 and array.dtype.kind not in "biuf" and not text:
        msg = f"{name} must be one column of numbers; got {shortened(array.item())}."
        raise InvalidType(msg)
    if array.ndim > 1:
        column = 0 if array.shape[1] == 1 else 1
        hint = f"Pass one column, for example np.asarray(values)[:, {column}]."
    elif name in _ROW_NOUNS:
        hint = f"Pass one {_ROW_NOUNS[name]} for each row."
    else:
        hint = "Put a single number into a list."
    msg = f"{name} must be one-dimensional; got shape {array.shape}. {hint}"
    raise InvalidData(msg)


def _refuse_text(labels: NDArray[Any], name: str, option: str | None) -> None:
    """Raise for text labels, and say how to turn them into 0 and 1."""
    if labels.ndim != 1 or labels.dtype.kind not in "OSU":
        return
    texts = {row: v for row, v in enumerate(labels) if isinstance(v, str | bytes)}
    if not texts:
        return
    row, first = next(iter(texts.items()))
    # The last in order, which scikit-learn would consider positive.
    pos_label = max(texts.values(), key=lambda text: (str(type(text)), text))
    way = f"np.asarray({name}) == {shown(pos_label)}"
    if option:
        way = f"{option}={shown(pos_label)}"
    msg = (
        f"{name} must be 0 or 1, or bool; got {shown(first)} at row {row}. If "
        f"{shown(pos_label)} is the positive class, pass {way}."
    )
    raise InvalidType(msg)


def _as_array(values: object, name: str, *, text: bool = False) -> NDArray[Any]:
    """Return an array of any shape; text and categories only if `text` is true."""
    if not isinstance(values, np.ndarray | list | tuple):
        values = _unwrapped_series(values, name, text=text)
    if type(values) is np.ndarray:  # before `np.ma`, which is slow to import
        return values.astype(object) if values.dtype.kind == "T" else values
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.is_masked(values):
            return values.data
        array = values.data.astype(object)
        array[values.mask] = None
        return array
    if isinstance(values, np.ndarray):
        return values
    try:
        array = np.asarray(values)
        # numpy turns numbers among text into text: look at the original objects.
        return np.asarray(values, dtype=object) if array.dtype.kind in "SU" else array
    except Exception as cause:  # a foreign `__array__` may raise anything
        if isinstance(cause, ValueError) and isinstance(values, list | tuple):
            msg = f"{name} must have rows of one length; got rows of different lengths."
            raise InvalidType(msg) from cause
        refuse_unreadable(values, cause, name)


def through_protocol(values: object, name: str) -> object:
    """Read a column that supports Arrow's or DLPack's protocol.

    Whatever numpy, narwhals or Python can read is returned unchanged.
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


def as_series(values: object, name: str) -> Any:
    """Return a narwhals series; an object of no known library is returned unchanged."""
    need("narwhals", what=f"{name}, neither a numpy array nor a list,")
    import narwhals as nw

    values = through_protocol(values, name)
    return nw.from_native(values, series_only=True, pass_through=True)


def _arrow() -> Any:
    need("pyarrow", extra="cli", what="A column by Arrow's protocol")
    import pyarrow as pa

    return pa


def _unwrapped_series(values: object, name: str, *, text: bool) -> object:
    """Read a column of any dataframe library; nulls of numbers become NaN."""
    series = as_series(values, name)
    import narwhals as nw

    if not isinstance(series, nw.Series):
        return series
    is_text = isinstance(series.dtype, nw.Categorical | nw.Enum | nw.String)
    if series.dtype == nw.Object or (text and is_text):
        return series.to_numpy()
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        msg = f"{name} must be real numbers; got a column of {series.dtype}."
        raise InvalidType(msg)
    if series.null_count() or series.dtype.is_decimal():
        series = series.cast(nw.Float64)
    return series.to_numpy()


def _as_real(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return an aligned array of bools, integers or floats, also from objects."""
    if array.dtype.kind == "O":
        numbers = [_as_float(value, row, name) for row, value in enumerate(array.flat)]
        return np.array(numbers, dtype=np.float64).reshape(array.shape)
    if array.dtype.kind not in "biuf":
        shown = f", for example {array.flat[0].item()!r}" if array.size else ""
        msg = f"{name} must be real numbers; got {array.dtype}{shown}."
        raise InvalidType(msg)
    return array if array.flags.aligned else array.copy()  # the kernel needs alignment


def _as_float(value: Any, row: int, name: str) -> float:
    """Convert a Python object to a float; text is never a number."""
    if value is None or type(value).__name__ == "NAType":  # pandas.NA
        return np.nan
    try:
        number = None if isinstance(value, _NOT_REAL) else float(value)
    except (TypeError, ValueError):
        number = None
    except OverflowError:
        number = np.inf
    if number is None:
        msg = f"{name} must be real numbers; got {shown_object(value)} at row {row}."
        raise InvalidType(msg)
    if isinstance(value, Integral) and number != int(value):
        msg = (
            f"{name} must fit into 64-bit floats; got {shortened(value)} at row {row}."
        )
        raise InvalidType(msg)
    return number


def as_number(value: Any) -> float | None:
    """Return one real number as a float; None for text, bools and arrays."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond doubles
        return np.inf


def shown(value: Any) -> str:
    """Show a number as the user would type it, without a numpy type."""
    if getattr(value, "shape", ()):
        return f"an array of shape {value.shape}"
    if hasattr(value, "item"):
        value = value.item()
    return shortened(value) if isinstance(value, int) else shown_object(value)


def shown_object(value: Any) -> str:
    """Show an object, even if its `__repr__` raises: a message must not fail."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001
        return f"a {type(value).__name__}"


def as_probabilities(
    values: object, name: str = "p", *, may_be_empty: bool = False
) -> FloatArray:
    """Return a column of numbers between 0 and 1; at least one by default."""
    p = as_scores(values, name)
    bad: NDArray[np.bool_] = ~((p >= 0) & (p <= 1))
    if bad.any():
        row = int(bad.argmax())
        msg = f"{name} must be between 0 and 1; got {p[row].item()!r} at row {row}."
        raise InvalidData(msg)
    if not (p.size or may_be_empty):
        msg = f"{name} must not be empty; got no rows."
        raise InvalidData(msg)
    return p


def check_confidence(confidence: float) -> None:
    """Raise unless a confidence lies strictly between 0 and 1."""
    if not 0 < confidence < 1:
        msg = f"confidence must be between 0 and 1; got {shown_object(confidence)}."
        raise InvalidParameter(msg)


def as_class_probabilities(values: object, name: str = "p") -> FloatArray:
    """Return rows of probabilities, one column per class, each with sum 1."""
    p = as_numbers(values, name)
    if p.ndim != 2 or p.shape[1] < 2 or not p.size:
        msg = (
            f"{name} must have shape (n, C), with a row or more, and a column for "
            f"each of two classes or more; got {p.shape}."
        )
        raise InvalidData(msg)
    outside = ~((p >= 0) & (p <= 1))
    if outside.any():
        row, column = map(int, np.argwhere(outside)[0])
        msg = (
            f"{name} must be between 0 and 1; got {p[row, column].item()!r} in column "
            f"{column} of row {row}."
        )
        raise InvalidData(msg)
    sums = p.sum(axis=1)
    bad = abs(sums - 1) > p.shape[1] * THREE_DIGITS + FUZZ
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"{name} must add up to 1 in each row; got {sums[row].item():.6g} in row "
            f"{row} ({int(bad.sum())} of {sums.size} rows do not). "
            "Divide each row by its sum."
        )
        raise InvalidData(msg)
    return p


def as_classes(values: object, n_columns: int, y: object, name: str) -> list[Any]:
    """Return the label of each column of probabilities; by default those of y."""
    labels: list[Any]
    if values is None:
        column = _column(y, "y", text=True)
        refuse_missing_labels(column, np.arange(column.size), "y")
        labels = sorted(
            set(column.tolist()), key=lambda label: (str(type(label)), label)
        )
        if len(labels) != n_columns:
            msg = (
                f"{name} has {n_columns} columns, and y {len(labels)} classes. Pass "
                "classes, the labels in the order of the columns."
            )
            raise InvalidData(msg)
        return labels
    labels = _column(values, "classes", text=True).tolist()
    if len(set(labels)) != len(labels) or len(labels) != n_columns:
        msg = (
            f"classes must be {n_columns} different labels, one for each column of "
            f"{name}; got {shortened(labels)}."
        )
        raise InvalidParameter(msg)
    return labels


def class_places(y: object, classes: list[Any]) -> IntArray:
    """Return the index of each label among the classes; raise if one is missing."""
    labels = _column(y, "y", text=True)
    place_of = {label: place for place, label in enumerate(classes)}
    try:
        listed = [place_of.get(label, -1) for label in labels.tolist()]
    except TypeError as unhashable:
        msg = "y must be one column of labels; got rows that are lists."
        raise InvalidData(msg) from unhashable
    places = np.array(listed, dtype=np.int64)
    if (places < 0).any():
        refuse_missing_labels(labels, np.arange(labels.size), "y")
        row = int((places < 0).argmax())
        msg = (
            f"y must be among the classes, {shortened(classes)}; got "
            f"{shown(labels[row])} at row {row}."
        )
        raise InvalidData(msg)
    return places


def as_class_places(labels: object, n_rows: int, n_classes: int) -> IntArray:
    """Return labels that are the places of classes: integers 0 … C - 1."""
    numbers = as_numbers(labels, "labels")
    if numbers.ndim != 1:
        msg = f"labels must be one column; got shape {numbers.shape}."
        raise InvalidData(msg)
    check_length(numbers.size, n_rows, "labels", "scores")
    bad = ~((numbers >= 0) & (numbers < n_classes) & (numbers == np.floor(numbers)))
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"labels must be the columns of the classes, 0 … {n_classes - 1}; got "
            f"{numbers[row].item()!r} at row {row} ({int(bad.sum())} of {n_rows} rows)."
        )
        raise InvalidData(msg)
    return numbers.astype(np.int64)


def as_rate(value: object, name: str) -> float:
    """Return a base rate: a number above 0 and below 1."""
    rate = as_number(value)
    if rate is None or not 0 < rate < 1:
        msg = (
            f"{name} must be a share of positives, above 0 and below 1; "
            f"got {shown(value)}."
        )
        raise InvalidParameter(msg)
    return rate
