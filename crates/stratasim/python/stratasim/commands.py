"""The commands, as functions. Options have the names that they have on the command line (`with` is `with_`), and mean the same."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _native
from ._call import AGAIN, Line, Path, Settings, call
from .results import Result, Sweep, Table, _numbers, _texts


def command(*words: str, progress: bool | None = None) -> str:
    """Any command of the command line, in its own words; gives what it prints.

    >>> print(stratasim.command("workloads").splitlines()[0].split()[:2])
    ['name', 'suite']
    """
    with Line(progress) as line:
        _, result, _ = _native.call(words, AGAIN, line.tell, line.printed)
    return result


def workloads() -> list[dict[str, Any]]:
    """The built-in programs: name, suite, papers, sizes, description.

    >>> "bfs" in [workload["name"] for workload in stratasim.workloads()]
    True
    """
    return list(call(["workloads"], [], {}, False)["workloads"])


def gpus() -> list[dict[str, Any]]:
    """The machines that programs can be timed on.

    >>> "titan-v" in [gpu["name"] for gpu in stratasim.gpus()]
    True
    """
    return list(call(["gpus"], [], {}, False)["gpus"])


def mechanisms() -> list[dict[str, Any]]:
    """What can be put into a machine, with settings; classes of one's own are among them (`prefetcher`, `replacement`).

    >>> "bpc" in [mechanism["name"] for mechanism in stratasim.mechanisms()]
    True
    """
    return list(call(["mechanisms"], [], {}, False)["mechanisms"])


def run(
    what: Path,
    *,
    size: str | None = None,
    seed: int | None = None,
    gpu: Path | None = None,
    with_: str | None = None,
    set: Settings | None = None,
    input: Path | None = None,
    threads: int | None = None,
    check: bool = False,
    check_races: bool = False,
    check_data: bool = False,
    explain: bool = False,
    lenient: bool = False,
    like_ncu: bool = False,
    max_instructions: int | None = None,
    out: Path | None = None,
    progress: bool | None = None,
) -> Result:
    """Runs a program: a workload by name, a launch file (`.toml`) or a trace; with time on a `gpu`.

    A program that fails, or whose result is wrong, is a result that says so (`passed`, `error`); what cannot be run at all is a
    `StrataError`.

    >>> plain = stratasim.run("saxpy", size="tiny", gpu="titan-v")
    >>> slow = stratasim.run("saxpy", size="tiny", gpu="titan-v", set={"clock.dram": "200MHz"})
    >>> slow.cycles > plain.cycles
    True
    >>> stratasim.run("saxpi")
    Traceback (most recent call last):
    stratasim.StrataError: there is no workload `saxpi`; did you mean `saxpy`?
    """
    options = dict(
        size=size, seed=seed, gpu=gpu, with_=with_, set=set, input=input, threads=threads, check=check,
        check_races=check_races, check_data=check_data, explain=explain, lenient=lenient, like_ncu=like_ncu,
        max_instructions=max_instructions, out=out,
    )  # fmt: skip
    return Result(call(["run"], [what], options, progress))


def compare(
    what: Path | Sequence[Path],
    *,
    size: str | None = None,
    gpu: Path | None = None,
    with_: str | Sequence[str] | None = None,
    set: Settings | None = None,
    out: Path | None = None,
    progress: bool | None = None,
) -> Table:
    """Sets machines side by side: the plain one, and one with each of the mechanisms. A row for each program and machine.

    >>> table = stratasim.compare("saxpy", size="tiny", gpu="titan-v", with_=["bpc", "stride"])
    >>> list(table["scheme"]), table["speedup"][0]
    (['none', 'bpc', 'stride'], np.float64(1.0))
    """
    programs = [what] if isinstance(what, (str, os.PathLike)) else what
    options = dict(size=size, gpu=gpu, with_=with_, set=set, out=out)
    rows = call(["compare"], programs, options, progress)["rows"]
    return _rows(rows, {"cycles": "cycles", "speedup": "ratio", "offchip_bytes": "bytes", "energy_j": "joules"})


def sweep(
    plan: Path | Mapping[str, Any],
    *,
    store: Path | None = None,
    jobs: int | None = None,
    engine: str | None = None,
    slurm: Iterable[str] = (),
    task_minutes: float | None = None,
    results: Path | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Runs every point of a plan that the store lacks; a row for each point. `plan` is a file (docs/sweep.md), or its tables as a
    dictionary.

    >>> points = stratasim.sweep(
    ...     {"programs": "saxpy", "sizes": "tiny", "gpu": "titan-v", "grid": {"sm.count": [2, 8]}}, store="store"
    ... )
    >>> points.rows, bool(points["cycles"][0] > points["cycles"][1]), points.units["cycles"]
    (2, True, 'cycles')
    """
    options = dict(store=store, jobs=jobs, engine=engine, task_minutes=task_minutes, results=results)
    passed = [f"--slurm={option}" for option in slurm]
    if isinstance(plan, Mapping):
        # Beside the programs and machines that it names: its paths are relative to where it stands.
        with tempfile.NamedTemporaryFile("w", suffix=".toml", prefix=".plan-", dir=".", encoding="utf-8") as file:
            file.write(_toml({"name": "sweep", **plan}))
            file.flush()
            told = call(["sweep", *passed], [os.path.basename(file.name)], options, progress)
    else:
        told = call(["sweep", *passed], [plan], options, progress)
    return Sweep(Table.read(told["results"]), told)


def show(
    what: Path | None = None,
    *,
    pareto: Sequence[str] | None = None,
    sensitivity: str | None = None,
    columns: Sequence[str] | None = None,
) -> Table:
    """The results of a sweep: all points, those that no other beats (`pareto=["cycles", "ipc:max"]`), or how much each setting matters
    (`sensitivity="cycles"`).

    >>> plan = {"programs": "saxpy", "sizes": "tiny", "gpu": "titan-v", "grid": {"sm.count": [2, 8]}}
    >>> points = stratasim.sweep(plan, store="store")
    >>> list(stratasim.show(points.path, sensitivity="cycles"))
    ['axis', 'value', 'base', 'ratio', 'pairs']
    """
    if pareto is None and sensitivity is None and columns is None and what is not None and os.path.isfile(what):
        return Table.read(what)
    options = dict(pareto=pareto, sensitivity=sensitivity, columns=columns)
    return _rows(call(["show"], [] if what is None else [what], options, False)["rows"], {})


def offload(
    *files: Path,
    load_miss_rate: float | None = None,
    load_coalescing: float | None = None,
    store_coalescing: float | None = None,
    address_bytes: int | None = None,
    table_entries: int | None = None,
) -> list[dict[str, Any]]:
    """The blocks of PTX files that are worth running near their data (TOM): for each file its candidates, with lines, registers and
    what they save.

    >>> import pathlib
    >>> _ = pathlib.Path("loop.ptx").write_text(LOOP)
    >>> [file] = stratasim.offload("loop.ptx")
    >>> [candidate["kernel"] for candidate in file["candidates"]]
    ['copy']
    """
    options = dict(
        load_miss_rate=load_miss_rate, load_coalescing=load_coalescing, store_coalescing=store_coalescing,
        address_bytes=address_bytes, table_entries=table_entries,
    )  # fmt: skip
    return list(call(["offload"], files, options, False)["files"])


def prefetch_trace(
    what: Path,
    output: Path,
    *,
    size: str | None = None,
    seed: int | None = None,
    gpu: Path | None = None,
    set: Settings | None = None,
    out: Path | None = None,
    progress: bool | None = None,
) -> Table:
    """Runs a program with unified memory and records its requests to the GMMU, a row for each.

    >>> requests = stratasim.prefetch_trace("nw", "nw.parquet", size="tiny")
    >>> requests.rows > 0
    True
    """
    options = dict(output=output, size=size, seed=seed, gpu=gpu, set=set, out=out)
    call(["prefetch", "trace"], [what], options, progress)
    return Table.read(output)


def prefetch_train(
    traces: Path | Sequence[Path], output: Path, *, progress: bool | None = None, **options: Any
) -> dict[str, Any]:
    """Trains a predictor of page accesses on traces and saves it. Options are those of `strata prefetch train`: `model`, `precision`,
    `protocol`, `distance`, `epochs`, `sequences`, `seed`, …; gives quality, size and latency.

    >>> _ = stratasim.prefetch_trace("nw", "nw.parquet", size="tiny")
    >>> trained = stratasim.prefetch_train("nw.parquet", "nw.safetensors", epochs=2, sequences=200)
    >>> 0 <= trained["top1"] <= 1
    True
    """
    files = [traces] if isinstance(traces, (str, os.PathLike)) else traces
    return dict(call(["prefetch", "train"], files, {"output": output, **options}, progress))


def prefetch_eval(
    traces: Path | Sequence[Path], *, checkpoint: Path | None = None, progress: bool | None = None, **options: Any
) -> dict[str, Any]:
    """Judges a predictor (`checkpoint`), or trains and judges `models`, beside tables that remember."""
    files = [traces] if isinstance(traces, (str, os.PathLike)) else traces
    return dict(call(["prefetch", "eval"], files, {"checkpoint": checkpoint, **options}, progress))


def validate(*, gpu: str | None = None, set: Settings | None = None, progress: bool | None = None) -> dict[str, Any]:
    """The tables of real GPUs beside the machine's."""
    return dict(call(["validate"], [], {"gpu": gpu, "set": set}, progress))


def reproduce(
    paper: str,
    *,
    quick: bool = False,
    full: bool = False,
    part: str | None = None,
    out: Path | None = None,
    progress: bool | None = None,
) -> Table:
    """A paper's numbers beside ours: `buddy`, `uvm`, `cmd`, `tom`."""
    options = dict(quick=quick, full=full, part=part, out=out)
    return _rows(call(["reproduce"], [paper], options, progress)["rows"], {})


def _rows(rows: Sequence[Mapping[str, Any]], units: Mapping[str, str]) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        numbers = all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in values)
        columns[name] = _numbers(values) if numbers else _texts(values)
    return Table(columns, {name: unit for name, unit in units.items() if name in columns})


def _toml(plan: Mapping[str, Any]) -> str:
    """A plan as TOML: values first, then tables."""
    lines = [f"{json.dumps(key)} = {_value(value)}" for key, value in plan.items() if not isinstance(value, Mapping) and key != "list"]
    for key, value in plan.items():
        if key == "list":
            for one in value:
                lines += ["[[list]]", *(f"{json.dumps(name)} = {_value(item)}" for name, item in one.items())]
        elif isinstance(value, Mapping):
            lines += [f"[{json.dumps(key)}]", *(f"{json.dumps(name)} = {_value(item)}" for name, item in value.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value))
    if isinstance(value, Iterable):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value.item() if hasattr(value, "item") else value)
