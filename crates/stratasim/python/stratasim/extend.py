"""Mechanisms as classes: for teaching and first tries. Each call into Python costs about a microsecond (docs/python.md), where one of
Rust costs nanoseconds; what proves itself becomes a crate on the same seam (docs/add-a-mechanism.md)."""

from __future__ import annotations

import hashlib
import inspect
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from . import _native

Class = TypeVar("Class", bound=type)

_PREFETCHER = ("accessed",)
_REPLACEMENT = ("attach", "hit", "filled", "victim")


def prefetcher(name: str, *, level: str = "l2", description: str | None = None, **settings: Any) -> Callable[[Class], Class]:
    """Registers a class as a cache prefetcher, `with_=name`. An instance serves the L1 of one SM or one slice of L2 (`level`).

    The class has `accessed(self, access)`, which gives the lines to fetch: numbers, or pairs of a line and a mask of sectors; and may have
    `counts(self)`, a dictionary of its own counters. `settings` are arguments of the class and their defaults, which `set` changes.

    >>> @stratasim.prefetcher("next-line", degree=1)
    ... class NextLine:
    ...     def __init__(self, degree):
    ...         self.degree = degree
    ...     def accessed(self, access):
    ...         if access.outcome == "miss" and not access.write:
    ...             return range(access.line + 1, access.line + 1 + self.degree)
    >>> result = stratasim.run("saxpy", size="tiny", gpu="titan-v", with_="next-line", set={"next-line.degree": 2})
    >>> result.passed, result.stats["gpu.l2.prefetch.issued"].value > 0
    (True, True)
    """
    return _register(name, "prefetcher", _PREFETCHER, level, description, settings)


def replacement(name: str, *, level: str = "l2", description: str | None = None, **settings: Any) -> Callable[[Class], Class]:
    """Registers a class as a replacement policy, `with_=name`. An instance serves the L1 of one SM or one slice of L2 (`level`).

    The class has `attach(self, sets, ways)`, `hit(self, set, way)`, `filled(self, set, way)` and `victim(self, set, ways)`, which chooses one
    of `ways`; it may have `invalidated(self, set, way)` and `counts(self)`.

    >>> @stratasim.replacement("fifo")
    ... class Fifo:
    ...     def attach(self, sets, ways):
    ...         self.order = [[] for _ in range(sets)]
    ...     def hit(self, set, way):
    ...         pass
    ...     def filled(self, set, way):
    ...         order = self.order[set]
    ...         if way in order:
    ...             order.remove(way)
    ...         order.append(way)
    ...     def victim(self, set, ways):
    ...         return next(way for way in self.order[set] if way in ways)
    >>> stratasim.run("saxpy", size="tiny", gpu="titan-v", with_="fifo").passed
    True
    """
    return _register(name, "replacement", _REPLACEMENT, level, description, settings)


def _register(
    name: str, seam: str, methods: tuple[str, ...], level: str, description: str | None, settings: dict[str, Any]
) -> Callable[[Class], Class]:
    def register(cls: Class) -> Class:
        missing = [method for method in methods if not callable(getattr(cls, method, None))]
        if missing:
            raise TypeError(f"class {cls.__name__} is no {seam}: it lacks {', '.join(missing)}")
        if level not in ("l1", "l2", "both"):
            raise ValueError(f"level is l1, l2 or both, not {level!r}")
        table = [(key, str(default), _kind(default)) for key, default in settings.items()]
        told = description or (cls.__doc__ or f"{seam} in Python: {cls.__name__}").strip().splitlines()[0]
        _native.register(name, told, seam, level, table, cls, _source(cls))
        return cls

    return register


def _kind(default: Any) -> str:
    if isinstance(default, int) and not isinstance(default, bool):
        return "whole"
    return "real" if isinstance(default, float) else "text"


def _source(cls: type) -> str:
    """A hash of the class's source; where there is none, results are of this class object alone."""
    try:
        texts = [inspect.getsource(base) for base in cls.__mro__[:-1]]
    except (OSError, TypeError):
        return f"python {uuid.uuid4().hex[:16]}"
    return f"python {hashlib.sha256(''.join(texts).encode()).hexdigest()[:16]}"
