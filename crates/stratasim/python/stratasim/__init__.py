"""StrataSim: a laboratory for the memory systems of GPUs.

Programs run on real data and on a machine with time; mechanisms (compression, deduplication, prefetching, unified memory, offloading) are
put into it and measured.

>>> import stratasim
>>> result = stratasim.run("saxpy", size="tiny", gpu="titan-v")
>>> result.passed, result.cycles > 0
(True, True)
>>> result.stats["gpu.l2.read_hit_rate"].unit
'fraction'

Everything that `strata` does on the command line can be called here, with the same names of options and the same texts of errors; the
wheel brings that command, too.
"""

from ._native import Access, StrataError
from .commands import (
    command,
    compare,
    gpus,
    mechanisms,
    offload,
    prefetch_eval,
    prefetch_trace,
    prefetch_train,
    reproduce,
    run,
    show,
    sweep,
    validate,
    workloads,
)
from .device import Device, DeviceArray, LaunchResult, Module, launch
from .extend import prefetcher, replacement
from .results import Kernel, Result, Stat, Sweep, Table
from .tensors import compress

__all__ = [
    "Access",
    "Device",
    "DeviceArray",
    "Kernel",
    "LaunchResult",
    "Module",
    "Result",
    "Stat",
    "StrataError",
    "Sweep",
    "Table",
    "command",
    "compare",
    "compress",
    "gpus",
    "launch",
    "mechanisms",
    "offload",
    "prefetch_eval",
    "prefetch_trace",
    "prefetch_train",
    "prefetcher",
    "replacement",
    "reproduce",
    "run",
    "show",
    "sweep",
    "validate",
    "workloads",
]
