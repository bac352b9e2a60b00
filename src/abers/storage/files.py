"""Files of everything that is fitted: save, load, verify.

Contents with a valid checksum may still be impossible: contents that no fit can have
made are refused on reading, and are never written. Each class has its own checks
(`core/fitted.py`); `container` handles the bytes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from abers.core.fitted import (
    Contents,
    checked_tags,
    contents_of,
    file_kind,
    flaw_of,
    restored,
)
from abers.errors import InvalidParameter
from abers.storage import container
from abers.storage.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abers.core.fitted import Stored
    from abers.storage.atomic import StrPath

CLASSES = {  # by kind of file; imported when one is read
    "calibration-set": "abers.online.online_set:OnlineVennAbers",
    "curve-calibrator": "abers.core.curve_calibrator:CurveCalibrator",
    "diagram": "abers.core.diagram:Diagram",
    "file-monitor": "abers.online.file_monitor:FileMonitor",
    "monitor": "abers.online.monitor:Monitor",
    "pooled-rule": "abers.core.pooled:PooledRule",
    "poset-rule": "abers.core.poset:PosetRule",
    "protected": "abers.online.protected:Protected",
    "regression-rule": "abers.core.regression:RegressionRule",
    "rule": "abers.core.rule:Rule",
    "rule-with-diagram": "abers.core.own_weight:RuleWithDiagram",
    "rule-set": "abers.core.rule_set:RuleSet",
    "stacked-rule": "abers.core.stacked:StackedRule",
    "top-rule": "abers.core.top:TopRule",
    "venn-abers-calibrator": "abers.core.venn_abers_calibrator:VennAbersCalibrator",
}


def save(
    thing: Stored,
    path: StrPath,
    metadata: Mapping[str, Any] | None = None,
    *,
    force: bool = True,
) -> None:
    """Write a file; see `Stored.save`. Without `force`, an existing one is kept."""
    replace_file(path, encoded(thing, metadata), force=force)


def encoded(
    thing: Stored, metadata: Mapping[str, Any] | None = None
) -> list[bytes | memoryview]:
    """Return the bytes of a file; raise if its contents are invalid."""
    facts, arrays = contents_of(thing)
    tags = {**facts["metadata"], **checked_tags(metadata)}
    contents = Contents(facts | {"metadata": tags}, arrays)
    kind = file_kind(thing)
    if flaw := flaw_of(type(thing), contents):
        msg = f"a {kind} to save must be as abers makes it; {flaw}."
        raise InvalidParameter(msg)
    return container.encoded(kind, contents)


def load(path: StrPath) -> Any:
    """Read any file that abers has saved.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Rule, RuleSet, Calibrator, PooledRule, PosetRule, RegressionRule, TopRule, \
Diagram, OnlineVennAbers, Monitor or Protected
        Equal to what was saved, bit for bit.

    Raises
    ------
    InvalidFile
        If the file is damaged, is not one of ours, or has a newer format. Nothing in
        the file is ever executed.

    Examples
    --------
    >>> import abers, pathlib, tempfile
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rule.abers")
    ...     rule.save(path)
    ...     abers.load(path) == rule
    True
    """
    kind, contents = container.read(path)
    if kind not in CLASSES:
        reason = f"this abers knows no {kind!r}"
        raise container.refusal(path, reason, advice="Upgrade abers.")
    module, _, name = CLASSES[kind].partition(":")
    saved: type[Stored] = getattr(importlib.import_module(module), name)
    if flaw := flaw_of(saved, contents):
        raise container.refusal(path, flaw, kind=kind)
    return restored(saved, contents)
