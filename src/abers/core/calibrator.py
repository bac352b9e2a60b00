"""Calibrators: they turn the scores of one or K models into class probabilities.

They differ in their map: a curve, Venn-Abers rules, or a mixture of both. What they
share is here: the number of models, the classes, what a score is, and whether it is
rounded, as it is when it comes from a classifier.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from abers import validation
from abers.core.class_scores import ClassScores, of_probabilities
from abers.core.fitted import (
    Fitted,
    are_tags,
    checked_tags,
    is_flag,
    is_tag,
    twin,
)
from abers.core.log_odds import refuse_impossible
from abers.core.predictions import TWO, FitSource, Predictions, both_classes
from abers.core.units import total_text
from abers.errors import InvalidData

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from abers.core.fitted import Facts, Tags
    from abers.core.guarantees import Guarantee
    from abers.validation import FloatArray

# A tag: the rule was fitted to out-of-fold scores, by other models than the one that
# predicts.
OUT_OF_FOLD = "abers:out-of-fold"
# What a column may hold. A "score" orders rows, and is not compared with the scores of
# other classes; log-odds of more than two classes are log-probabilities.
READS = ("score", "margin", "log-odds", "probability")


def are_classes(labels: object) -> bool:
    """Return whether a file can store these as the labels of two or more classes."""
    return (
        isinstance(labels, list)
        and len(labels) >= TWO
        and len({type(label) for label in labels}) == 1
        and all(label is not None and is_tag("", label) for label in labels)
        and len(set(labels)) == len(labels)
    )


def are_columns(names: object) -> bool:
    """Return whether these are names of columns; empty if the names are unknown."""
    return (
        isinstance(names, list)
        and all(isinstance(name, str) and is_tag(name, None) for name in names)
        and len(set(names)) == len(names)
    )


def plain_classes(classes: ArrayLike) -> tuple[Any, ...]:
    """Return labels as a file stores them; other types become text."""
    labels = np.asarray(classes).tolist()
    return tuple(labels) if are_classes(labels) else tuple(map(str, labels))


FACTS: dict[str, Callable[[Any], bool]] = {  # of every calibrator
    "classes": are_classes,
    "columns": are_columns,
    "is_rounded": is_flag,
    "metadata": are_tags,
    "n_models": lambda count: type(count) is int and count > 0,
    "reads": lambda reads: isinstance(reads, str) and reads in READS,
}


class Calibrator(Fitted):
    """A map from the scores of one or K models to class probabilities.

    It comes from a fit, from `calibrator_` of a fitted classifier, or from
    `abers.load`. It is immutable: equal calibrators compare equal, and threads may
    share one. It needs numpy alone.
    """

    __slots__ = ("_classes", "_columns", "_is_rounded", "_reads")

    def _set_input(
        self,
        classes: Sequence[Any],
        *,
        reads: str,
        is_rounded: bool = False,
        columns: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Set what all calibrators have; each subclass sets its own map."""
        self._classes = tuple(classes)
        self._reads = reads
        self._is_rounded = is_rounded
        self._columns = tuple(columns)
        self._metadata = MappingProxyType(checked_tags(metadata))

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels, in the order of the columns of probabilities."""
        return self._classes

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self._classes)

    @property
    def pos_label(self) -> Any:
        """The class that `probability` is about; None with more than two classes."""
        return self._classes[1] if self.n_classes == TWO else None

    @property
    @abstractmethod
    def n_models(self) -> int:
        """Number of models whose scores a prediction needs."""

    @property
    def n_columns(self) -> int:
        """Number of columns it reads: one per model, C for more than two classes."""
        return self.n_models * (1 if self.n_classes == TWO else self.n_classes)

    @property
    def reads(self) -> str:
        """What the columns hold: "probability", "log-odds", "margin" or "score"."""
        return self._reads

    @property
    def is_rounded(self) -> bool:
        """Whether it rounds scores, as classifiers do when they are calibrated."""
        return self._is_rounded

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns it reads, in order; empty if unknown."""
        return self._columns

    @property
    @abstractmethod
    def n_rows(self) -> float:
        """Total weight of the calibration rows: their number if all weigh 1."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""

    def probability(self, scores: ArrayLike) -> FloatArray:
        """Return the probability of the second of two classes, or of each class.

        Parameters
        ----------
        scores : array-like of shape (n, n_columns)
            What `reads` says. The columns of each model are adjacent, the first model's
            first; an array (n, K, C) is accepted, too. With two classes, each model has
            one column, for the second class, or two. A single column may be (n,).

        Returns
        -------
        ndarray of shape (n,) or (n, C)
            No guarantee of calibration is proven for it.
        """
        table = self.class_probabilities(scores)
        return np.ascontiguousarray(table[:, 1]) if self.n_classes == TWO else table

    def class_probabilities(self, scores: ArrayLike) -> FloatArray:
        """Return the probability of each class, also with two classes.

        Parameters
        ----------
        scores : array-like of shape (n, n_columns)
            As for `probability`.

        Returns
        -------
        ndarray of shape (n, C)
            Rows sum to 1.
        """
        return self._probabilities(self._by_model(scores))

    def predictions(self, scores: ArrayLike) -> Predictions:
        """Return probabilities, any bounds, and the scores they came from.

        Parameters
        ----------
        scores : array-like of shape (n, n_columns)
            As for `probability`.

        Returns
        -------
        Predictions
            If the scores are probabilities, their mean over the models is kept as the
            probabilities before calibration.
        """
        return self._predicted(self._by_model(scores))

    @abstractmethod
    def _probabilities(self, by_model: list[FloatArray]) -> FloatArray:
        """Predict all classes from the checked scores of each model."""

    def _predicted(self, by_model: list[FloatArray]) -> Predictions:
        """Return what `predictions` does, for scores that were already checked."""
        return Predictions(
            self._probabilities(by_model),
            self._classes,
            shown=1 if self.n_classes == TWO else None,
            before=self._before(by_model),
            source=FitSource(n_rows=self.n_rows, metadata=self._metadata),
        )

    def with_classes(self, classes: Sequence[Any]) -> Self:
        """Return the same calibrator with other class labels.

        Parameters
        ----------
        classes : sequence
            Distinct labels of one type (text, numbers or booleans), in the order of
            the classes.

        Returns
        -------
        Calibrator
            The relabelled calibrator.
        """
        labels = np.asarray(classes).tolist()
        if not are_classes(labels) or len(labels) != self.n_classes:
            msg = (
                f"classes must be {self.n_classes} distinct labels of one type; got "
                f"{validation.shown_object(classes)}."
            )
            raise InvalidData(msg)
        return twin(type(self), self, _classes=tuple(labels))

    def with_columns(self, columns: Sequence[str]) -> Self:
        """Return the same calibrator with names for the columns it reads.

        Parameters
        ----------
        columns : sequence of str
            One distinct name per column it reads, in their order; or empty.

        Returns
        -------
        Calibrator
            The calibrator with these names.
        """
        names = list(columns)
        if not are_columns(names) or not self._may_have(len(names)):
            msg = (
                f"columns must be {self.n_columns} distinct names; got "
                f"{validation.shown_object(columns)}."
            )
            raise InvalidData(msg)
        return twin(type(self), self, _columns=tuple(names))

    def with_metadata(self, metadata: Tags) -> Self:
        """Return the same calibrator with more tags; existing names are overwritten.

        Parameters
        ----------
        metadata : mapping
            Your own tags (model, date, …).

        Returns
        -------
        Calibrator
            The calibrator with these tags.
        """
        tags = {**self._metadata, **checked_tags(metadata)}
        return twin(type(self), self, _metadata=MappingProxyType(tags))

    def _input_facts(self) -> Facts:
        """Return the facts that all calibrators have."""
        return {
            "classes": list(self._classes),
            "columns": list(self._columns),
            "is_rounded": self._is_rounded,
            "metadata": dict(self._metadata),
            "n_models": self.n_models,
            "reads": self._reads,
        }

    def _may_have(self, n_columns: int) -> bool:
        return n_columns in (0, *_widths(self.n_models, self.n_classes))

    def _by_model(self, scores: ArrayLike) -> list[FloatArray]:
        """Check new scores, and return those of each model: (n,), (n, 2) or (n, C)."""
        values = validation.as_numbers(scores, "scores")
        count, n_classes = self.n_models, self.n_classes
        if values.ndim == 3 and values.shape[1:] == (count, n_classes):  # noqa: PLR2004
            columns = values.reshape(len(values), count * n_classes)
        else:
            columns = values[:, np.newaxis] if values.ndim == 1 else values
        if columns.ndim != TWO or columns.shape[1] not in _widths(count, n_classes):
            msg = f"scores must have {self._wanted()}; got shape {values.shape}."
            raise InvalidData(msg)
        validation.check_scores(columns, purpose="predicting")
        # One memory layout: the sum of a row must not depend on the rows around it.
        width = columns.shape[1] // count
        by_model = np.ascontiguousarray(
            columns.reshape(len(columns), count, width).swapaxes(0, 1)
        )
        single = width == 1
        tables = [table[:, 0] if single else table for table in by_model]
        for table in tables:
            refuse_no_probabilities(table, self._reads)
        return tables

    def _wanted(self) -> str:
        """Describe the columns that it reads, for an error message."""
        count, n_classes = self.n_models, self.n_classes
        of_models = "" if count == 1 else f" of each of {count} models"
        if n_classes > TWO:
            return f"{self.n_columns} columns, one per class{of_models}"
        if count == 1:
            return "one column, that of the second class, or two, one per class"
        both = f"{TWO * count}, one per class{of_models}"
        return f"{count} columns, one per model, or {both}"

    def _scores_of(self, table: FloatArray) -> ClassScores:
        """Return the scores of one model as `ClassScores`."""
        is_exact = not self._is_rounded
        if self._reads == "probability":
            both = both_classes(table) if table.ndim == 1 else table
            return replace(of_probabilities(both), are_exact=is_exact)
        return ClassScores(
            table, are_logarithms=self._reads == "log-odds", are_exact=is_exact
        )

    def _before(self, by_model: list[FloatArray]) -> FloatArray | None:
        """Return the mean of the models' probabilities, if it reads probabilities."""
        if self._reads != "probability":
            return None
        tables = [t if t.ndim > 1 else both_classes(t) for t in by_model]
        mean: FloatArray = np.mean(tables, axis=0)
        return mean

    def _input_repr(self) -> str:
        models = f", {self.n_models} models" if self.n_models > 1 else ""
        return f"{self.n_classes} classes{models}, {total_text(self.n_rows)} rows"


def flaw_of_input(facts: Facts) -> str | None:
    """Return why no calibrator can read such scores, or None."""
    n_classes = len(facts["classes"])
    if facts["reads"] == "score" and n_classes > TWO:
        return "its scores do not compare its classes"
    if len(facts["columns"]) not in (0, *_widths(facts["n_models"], n_classes)):
        return "its columns are not those that it reads"
    return None


def refuse_no_probabilities(scores: FloatArray, kind: str) -> None:
    """Raise if scores (n,) or (n, C) should be probabilities but cannot be."""
    if scores.ndim == 1:
        refuse_impossible(scores[:, np.newaxis], kind, option="kind")
    elif kind == "probability" and scores.size:
        validation.as_class_probabilities(scores, "scores")


def _widths(n_models: int, n_classes: int) -> tuple[int, ...]:
    """Return how many columns the scores may have."""
    both = n_models * n_classes
    return (n_models, both) if n_classes == TWO else (both,)
