"""Targets: the mean target by the mean prediction, in bands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from abers.plots import _base, _style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from abers.evaluation.targets import TargetBand
    from abers.plots._style import Theme


class Targets(_base.Picture):
    """Draw the mean target of each band with its interval, before and after."""

    size = (_style.WIDTH, 4.4)

    def __init__(self, bands: Sequence[TargetBand]) -> None:
        self.bands = bands

    def _draw(self, ax: Axes, look: Theme) -> None:
        means = [band.mean_target for band in self.bands]
        y = np.array([mean.value for mean in means])
        after = np.array([band.mean_prediction for band in self.bands])
        before = np.array([band.mean_prediction_before for band in self.bands])
        lower, upper = (
            np.array([abs(getattr(mean, end) - mean.value) for mean in means])
            for end in ("lower", "upper")
        )
        known = [x for x in (*after, *before) if not math.isnan(x)]
        ends = min(known), max(known)
        (calibrated,) = ax.plot(ends, ends, color=look.soft, linewidth=1)
        errors = np.nan_to_num(np.stack([lower, upper]))
        bars = ax.errorbar(
            after, y, errors, fmt="o", color=look.strong, markersize=5, linewidth=1.2
        )
        entries = [(bars[0], "after, with 95 % intervals"), (calibrated, "calibrated")]
        if not np.isnan(before).all():
            (points,) = ax.plot(before, y, "x", color=look.accent, markersize=6)
            entries.insert(0, (points, "before"))
        ax.set(xlabel="mean prediction", ylabel="mean target")
        _style.legend(ax, entries, look)
