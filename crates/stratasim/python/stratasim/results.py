"""What comes back: runs, tables, sweeps. Numbers are Python's or NumPy's, and every statistic has its unit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._call import Path as AnyPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Stat:
    """A statistic: its value, its unit and what it means."""

    value: float
    unit: str
    description: str = ""

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        value = self.value
        number = f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"
        return f"{number} {self.unit}"


class Stats(Mapping[str, Stat]):
    """Statistics by path, such as `gpu.l2.read_hit_rate`. A wrong path draws the nearest ones."""

    def __init__(self, tree: Mapping[str, Mapping[str, Any]]) -> None:
        self._tree = tree

    def __getitem__(self, path: str) -> Stat:
        try:
            stat = self._tree[path]
        except KeyError:
            from difflib import get_close_matches

            near = get_close_matches(path, list(self._tree), n=3, cutoff=0.4)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise KeyError(f"there is no statistic {path!r}{hint}") from None
        return Stat(stat["value"], stat["unit"], stat.get("description", ""))

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree)

    def __len__(self) -> int:
        return len(self._tree)

    def below(self, prefix: str) -> dict[str, Stat]:
        """Those whose paths begin with a prefix: `below("gpu.l2")`."""
        wanted = (f"{prefix}.", f"{prefix}[")
        return {path: self[path] for path in self._tree if path == prefix or path.startswith(wanted)}

    def _repr_html_(self) -> str:
        rows = ((path, str(self[path]), self[path].description) for path in self)
        return _html(("statistic", "value", "what it is"), rows)


@dataclass(frozen=True)
class Kernel:
    """One launch of a run."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cycles: int | None
    launch_cycles: int | None
    thread_instructions: int
    warp_instructions: int
    ipc: float | None
    stats: Stats

    @classmethod
    def _of(cls, told: Mapping[str, Any]) -> Self:
        return cls(
            name=told["name"],
            grid=tuple(told["grid"]),
            block=tuple(told["block"]),
            cycles=told["cycles"],
            launch_cycles=told["launch_cycles"],
            thread_instructions=told["thread_instructions"],
            warp_instructions=told["warp_instructions"],
            ipc=told["ipc"],
            stats=Stats(told["stats"]),
        )


class Result:
    """The result of a run. `json` has all of it, as `result.json` beside it does."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        #: Everything, as the command line's `--json` has it.
        self.json: Mapping[str, Any] = told
        #: The program.
        self.name: str = told["name"]
        #: Whether its results are right; `None` if there is nothing to check against.
        self.passed: bool | None = told["passed"]
        #: Why the program stopped early, if it did.
        self.error: str | None = told["error"]
        #: What looked suspicious.
        self.warnings: list[str] = list(told["warnings"])
        #: Core cycles of all launches; `None` without time.
        self.cycles: int | None = told["cycles"]
        #: Thread instructions per core cycle.
        self.ipc: float | None = told["ipc"]
        self.thread_instructions: int = told["thread_instructions"]
        self.warp_instructions: int = told["warp_instructions"]
        #: Statistics of the whole run by path, with units.
        self.stats = Stats(told["stats"])
        #: Launches, in program order.
        self.kernels = [Kernel._of(kernel) for kernel in told["kernels"]]
        #: The folder of the result.
        self.directory = Path(told["host"]["directory"])
        #: The Parquet file of its statistics.
        self.parquet = self.directory / "stats.parquet"

    def launches(self) -> Table:
        """A row for each launch: name, cycles, instructions, and every statistic that the machine kept of it."""
        columns: dict[str, NDArray[Any]] = {}
        units: dict[str, str] = {"cycles": "cycles", "thread_instructions": "instructions", "warp_instructions": "instructions"}
        kernels = self.kernels
        columns["kernel"] = _texts([kernel.name for kernel in kernels])
        for name in ("cycles", "thread_instructions", "warp_instructions"):
            columns[name] = _numbers([getattr(kernel, name) for kernel in kernels])
        paths = list(dict.fromkeys(path for kernel in kernels for path in kernel.stats))
        for path in paths:
            columns[path] = _numbers([kernel.stats[path].value if path in kernel.stats else None for kernel in kernels])
            units[path] = next(kernel.stats[path].unit for kernel in kernels if path in kernel.stats)
        return Table(columns, units)

    def plot(self, prefix: str = "gpu.dram", ax: Axes | None = None) -> Axes:
        """Bars of the statistics below a prefix that have the commonest unit (needs Matplotlib)."""
        from .plots import bars

        return bars(self.stats.below(prefix), self.name, ax)

    def __repr__(self) -> str:
        told = {True: "passed", False: "wrong", None: "not checked"}[self.passed]
        gpu = f" on {self.json['gpu']}" if self.json.get("gpu") else ""
        with_ = f" with {self.json['with']}" if self.json.get("with", "none") != "none" else ""
        cycles = f", {self.cycles:,} cycles" if self.cycles is not None else ""
        return f"<{self.name}{gpu}{with_}: {self.error or told}{cycles}, {self.thread_instructions:,} thread instructions>"

    def _repr_html_(self) -> str:
        head = f"<p><b>{escape(repr(self)[1:-1])}</b></p>"
        return head + self.stats._repr_html_()


class Table(Mapping[str, NDArray[Any]]):
    """Columns by name: NumPy arrays, with units. `pandas()` and `polars()` give data frames.

    Numbers of a file lie in memory once: the arrays are views of what was read, and cannot be written.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]], units: Mapping[str, str], path: Path | None = None) -> None:
        self._columns = dict(columns)
        #: The unit of each column that has one.
        self.units = dict(units)
        #: The Parquet file it was read from, if it was.
        self.path = path

    @classmethod
    def read(cls, path: AnyPath) -> Table:
        """Reads a Parquet file of ours: `stats.parquet` of a run, `results.parquet` of a sweep, a trace of page requests."""
        columns, texts = _native.read_table(path)
        arrays = {
            name: _texts(values) if kind is None else np.frombuffer(values, dtype=np.dtype(kind))
            for name, kind, values in columns
        }
        return cls(arrays, json.loads(texts.get("units", "{}")), Path(path))

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            return self._columns[name]
        except KeyError:
            from difflib import get_close_matches

            near = get_close_matches(name, list(self._columns), n=3, cutoff=0.4)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise KeyError(f"there is no column {name!r}{hint}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self._columns.values()), ()))

    def where(self, **equal: Any) -> Table:
        """The rows whose columns have these values: `where(program="bfs")`."""
        keep = np.ones(self.rows, dtype=bool)
        for name, value in equal.items():
            keep &= self[name] == value
        return Table({name: values[keep] for name, values in self.items()}, self.units, self.path)

    def pandas(self) -> Any:
        """A pandas data frame."""
        import pandas

        return pandas.DataFrame(self._columns)

    def polars(self) -> Any:
        """A polars data frame."""
        import polars

        return polars.DataFrame({name: values.tolist() if values.dtype == object else values for name, values in self.items()})

    def plot(self, x: str, y: str, by: str | None = None, ax: Axes | None = None) -> Axes:
        """Draws one column over another, a line for each value of `by` (needs Matplotlib)."""
        from .plots import lines

        return lines(self, x, y, by, ax)

    def __repr__(self) -> str:
        return f"<table of {self.rows} rows: {', '.join(list(self)[:12])}{', …' if len(self) > 12 else ''}>"

    def _repr_html_(self) -> str:
        shown = list(self)[:16]
        heads = [f"{name} ({self.units[name]})" if name in self.units else name for name in shown]
        return _html(heads, zip(*(self[name][:60] for name in shown), strict=True))


class Sweep(Table):
    """The results of a sweep: a row for each point. `failed` lists the points that have no good result, with their messages."""

    def __init__(self, table: Table, told: Mapping[str, Any]) -> None:
        super().__init__(table._columns, table.units, table.path)
        #: How many points there are, ran now, were there already.
        self.points: int = told["points"]
        self.reused: int = told["reused"]
        #: Points that failed: number, name and message.
        self.failed: list[dict[str, Any]] = list(told["failed"])
        #: How many points shared inputs and references with others, and how many times as fast that made the sweep.
        self.shared: dict[str, Any] = dict(told["shared"])


def _numbers(values: list[Any]) -> NDArray[Any]:
    if all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _texts(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _html(heads: Any, rows: Any) -> str:
    head = "".join(f"<th>{escape(str(name))}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
