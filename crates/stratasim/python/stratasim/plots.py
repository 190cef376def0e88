"""Plots with Matplotlib, which is not installed with this package: `pip install stratasim[plots]`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .results import Stat, Table


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need Matplotlib: pip install stratasim[plots]") from None
    return plt.figure().add_subplot()


def lines(table: Table, x: str, y: str, by: str | None, ax: Axes | None) -> Axes:
    """One column over another, a line for each value of `by`."""
    values = [None] if by is None else list(dict.fromkeys(table[by].tolist()))
    rows = [table if by is None else table.where(**{by: value}) for value in values]
    drawn = _axes(ax)
    for value, part in zip(values, rows, strict=True):
        order = np.argsort(part[x], kind="stable")
        drawn.plot(part[x][order], part[y][order], marker="o", label=None if by is None else f"{by} = {value}")
    for name, label in ((x, drawn.set_xlabel), (y, drawn.set_ylabel)):
        label(f"{name} ({table.units[name]})" if name in table.units else name)
    if by is not None:
        drawn.legend()
    return drawn


def bars(stats: Mapping[str, Stat], title: str, ax: Axes | None) -> Axes:
    """Bars of the statistics of the commonest unit."""
    unit = Counter(stat.unit for stat in stats.values()).most_common(1)
    shown = {path: float(stat) for path, stat in stats.items() if unit and stat.unit == unit[0][0]}
    drawn = _axes(ax)
    drawn.barh(list(shown), list(shown.values()))
    drawn.set_xlabel(unit[0][0] if unit else "")
    drawn.set_title(title)
    return drawn
