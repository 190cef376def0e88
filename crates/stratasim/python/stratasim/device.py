"""One's own PTX on NumPy arrays."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _native
from ._call import Line, Settings, settings_of
from .results import Kernel
from .tensors import as_bytes

Extent = int | Sequence[int]


class LaunchResult(Kernel):
    """What a launch did: cycles (`None` without time), instructions, statistics with units."""


class DeviceArray:
    """An array in the memory of a device. It is there until it is freed, or the device goes."""

    def __init__(self, device: Device, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        #: Its first byte, as kernels see it.
        self.address = address
        self.shape = shape
        self.dtype = dtype
        self._device = device

    def get(self) -> NDArray[Any]:
        """A copy in the host's memory."""
        array = np.empty(self.shape, self.dtype)
        self._device._native.read(self.address, as_bytes(array))
        return array

    def put(self, array: Any) -> None:
        """Copies an array of the same shape and type to the device."""
        array = np.ascontiguousarray(array, self.dtype)
        if array.shape != self.shape:
            raise ValueError(f"an array of shape {array.shape} does not fit one of shape {self.shape}")
        self._device._native.write(self.address, as_bytes(array))

    def free(self) -> None:
        """Gives the memory back."""
        self._device._native.free(self.address)


class Module:
    """PTX that a device has loaded. `kernels` names its kernels."""

    def __init__(self, device: Device, number: int, kernels: dict[str, list[tuple[str, int]]]) -> None:
        self._device = device
        self._number = number
        self._kernels = kernels

    @property
    def kernels(self) -> list[str]:
        """The names of its kernels."""
        return list(self._kernels)

    def launch(
        self, kernel: str, grid: Extent, block: Extent, *args: Any, shared: int = 0, progress: bool | None = None
    ) -> LaunchResult:
        """Launches a kernel and waits for it. Arguments are numbers, arrays of the host and arrays of the device.

        An array of the host is copied to the device before, and back after; one that cannot be written is not copied back.
        """
        kinds = self._kernels.get(kernel)
        if kinds is None:
            raise _native.StrataError(f"no kernel `{kernel}` in the module; it has {', '.join(self._kernels)}")
        if len(kinds) != len(args):
            raise _native.StrataError(f"kernel `{kernel}` takes {len(kinds)} arguments, {len(args)} were given")
        native = self._device._native
        copied: dict[int, tuple[int, NDArray[np.uint8], bool]] = {}
        try:
            packed = []
            for index, (value, (kind, size)) in enumerate(zip(args, kinds, strict=True)):
                if isinstance(value, DeviceArray):
                    packed.append(value.address.to_bytes(8, "little"))
                elif isinstance(value, np.ndarray) and value.ndim > 0:
                    if id(value) not in copied:
                        view = _view(value, index)
                        start = native.alloc(f"argument {index}", max(view.nbytes, 1))
                        copied[id(value)] = (start, view, value.flags.writeable)
                        native.write(start, view)
                    packed.append(copied[id(value)][0].to_bytes(8, "little"))
                else:
                    packed.append(_scalar(value, kind, size, kernel, index))
            with Line(progress) as line:
                told = native.launch(
                    self._number, kernel, _extent(grid), _extent(block), shared, packed, line.tell, line.printed
                )
            for start, view, writeable in copied.values():
                if writeable:
                    native.read(start, view)
        finally:
            for start, _, _ in copied.values():
                _free(native, start)
        return LaunchResult._of(json.loads(told))


class Device:
    """A GPU for programs of one's own: on a machine with time if `gpu` names one, else without.

    >>> import numpy as np
    >>> device = stratasim.Device(gpu="titan-v")
    >>> module = device.load(SAXPY)
    >>> x, y = np.arange(1000, dtype=np.float32), np.ones(1000, dtype=np.float32)
    >>> launch = module.launch("saxpy", 4, 256, 1000, 2.0, x, y)
    >>> bool((y == 2 * np.arange(1000) + 1).all()), launch.cycles > 0
    (True, True)

    Arrays that stay on the device keep what caches hold of them from launch to launch:

    >>> on_device = device.array(x)
    >>> module.launch("saxpy", 4, 256, 1000, 2.0, on_device, on_device).stats["gpu.launches"].value
    1
    >>> float(on_device.get()[3])
    9.0
    """

    def __init__(
        self,
        gpu: str | os.PathLike[str] | None = None,
        with_: str = "none",
        set: Settings | None = None,
        *,
        check: bool = False,
        check_data: bool = False,
        max_instructions: int | None = None,
    ) -> None:
        name = None if gpu is None else os.fspath(gpu)
        self._native = _native.Device(name, with_, settings_of(set), check, check_data, max_instructions)

    def load(self, ptx: str | os.PathLike[str]) -> Module:
        """Loads PTX: its text, or the path of a file."""
        is_text = isinstance(ptx, str) and ("\n" in ptx or ".version" in ptx)
        name, text = ("module", str(ptx)) if is_text else (os.fspath(ptx), Path(ptx).read_text(encoding="utf-8"))
        number, kernels = self._native.load(name, text)
        return Module(self, number, dict(kernels))

    def array(self, array: Any, name: str = "array") -> DeviceArray:
        """An array on the device with these contents."""
        array = np.ascontiguousarray(array)
        made = self.empty(array.shape, array.dtype, name)
        made.put(array)
        return made

    def empty(self, shape: Extent, dtype: DTypeLike = np.float32, name: str = "array") -> DeviceArray:
        """An array on the device; nothing was written to it."""
        extents = (shape,) if isinstance(shape, int) else tuple(shape)
        kind = np.dtype(dtype)
        bytes_ = int(np.prod(extents, dtype=np.int64)) * kind.itemsize
        return DeviceArray(self, self._native.alloc(name, max(bytes_, 1)), extents, kind)

    @property
    def warnings(self) -> list[str]:
        """What looked suspicious so far (with `check`: reads of memory that nothing wrote)."""
        return self._native.warnings()


def launch(
    ptx: str | os.PathLike[str],
    kernel: str,
    grid: Extent,
    block: Extent,
    *args: Any,
    shared: int = 0,
    gpu: str | os.PathLike[str] | None = None,
    with_: str = "none",
    set: Settings | None = None,
    check: bool = False,
    progress: bool | None = None,
) -> LaunchResult:
    """Launches one kernel of one's own on arrays, on a device that goes afterwards.

    >>> import numpy as np
    >>> x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    >>> stratasim.launch(SAXPY, "saxpy", 1, 64, 64, 3.0, x, y).thread_instructions > 0
    True
    >>> float(y.sum())
    192.0
    """
    device = Device(gpu, with_, set, check=check)
    return device.load(ptx).launch(kernel, grid, block, *args, shared=shared, progress=progress)


def _view(value: NDArray[Any], index: int) -> NDArray[np.uint8]:
    if not value.flags.c_contiguous:
        raise ValueError(f"argument {index} is not contiguous: pass numpy.ascontiguousarray(…) of it")
    return value.reshape(-1).view(np.uint8)


def _scalar(value: Any, kind: str, size: int, kernel: str, index: int) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, np.generic):
        return bytes(value.tobytes())
    if isinstance(value, (bool, int)) and kind == "whole":
        try:
            return int(value).to_bytes(size, "little", signed=value < 0)
        except OverflowError:
            raise ValueError(f"argument {index} of kernel `{kernel}` has {size} bytes, which {value} does not fit") from None
    if isinstance(value, (int, float)) and kind == "float" and size in (2, 4, 8):
        return np.array(value, dtype=f"<f{size}").tobytes()
    wanted = {"whole": "a whole number or an array", "float": "a number", "bytes": f"{size} bytes"}[kind]
    raise TypeError(f"argument {index} of kernel `{kernel}` must be {wanted}, not {value!r}")


def _extent(extent: Extent) -> tuple[int, int, int]:
    if isinstance(extent, int):
        return (extent, 1, 1)
    x, y, z = (*extent, 1, 1)[:3]
    return (int(x), int(y), int(z))


def _free(native: _native.Device, start: int) -> None:
    try:
        native.free(start)
    except _native.StrataError:
        # The device has gone with its memory; whoever launched hears why.
        pass
