"""How compressible arrays are."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _native
from ._call import Line, Path, call


def compress(
    what: Any, *, codec: str | Sequence[str] = (), threshold: float = 0.3, progress: bool | None = None
) -> dict[str, Any]:
    """Every codec on every 128-byte entry of arrays, and the targets that Buddy Compression would give them.

    `what` is an array (NumPy, PyTorch, or anything that NumPy takes), a dictionary of them such as a `state_dict()`, or the path of a
    file (`.safetensors`, `.npy`, `.npz`, raw bytes), or several paths. Arrays that are contiguous are read where they lie. Gives, for
    each file or for memory, ratios by codec and `tensors` with theirs and their `target`.

    >>> import numpy as np
    >>> told = stratasim.compress({"zeros": np.zeros(4096, np.float32), "counts": np.arange(4096, dtype=np.int32)})
    >>> [tensor["name"] for tensor in told["files"][0]["tensors"]]
    ['zeros', 'counts']
    >>> told["files"][0]["tensors"][1]["ratio"]["bpc"] > 2
    True
    """
    codecs = [codec] if isinstance(codec, str) else list(codec)
    paths = _paths(what)
    if paths is not None:
        return dict(call(["compress"], paths, {"codec": codecs or None, "threshold": threshold}, progress))
    named: Mapping[str, Any] = what if isinstance(what, Mapping) else {"array": what}
    arrays = [(name, as_bytes(array)) for name, array in named.items()]
    with Line(progress) as line:
        return dict(json.loads(_native.compress(arrays, codecs, threshold, line.tell)))


def _paths(what: Any) -> list[Path] | None:
    if isinstance(what, (str, os.PathLike)):
        return [what]
    if isinstance(what, (list, tuple)) and what and all(isinstance(one, (str, os.PathLike)) for one in what):
        return list(what)
    return None


def as_bytes(array: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The bytes of an array: a view where it is contiguous and in this machine's memory, else a copy."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        # As bytes first: NumPy does not know all of PyTorch's types.
        flat = array.detach().cpu().contiguous().reshape(-1)
        return np.asarray(flat.view(torch.uint8).numpy())
    flat_array = np.ascontiguousarray(array).reshape(-1)
    if flat_array.dtype.hasobject:
        raise TypeError("an array of Python objects has no bytes to compress")
    return flat_array.view(np.uint8)
