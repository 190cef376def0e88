"""What is compiled: see `crates/stratasim/src/`."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeAlias, final

Tell: TypeAlias = Callable[[str, float | None], object]
Printed: TypeAlias = Callable[[bytes], object]

class StrataError(Exception): ...

@final
class Access:
    line: int
    sectors: int
    pc: int
    warp: int
    sm: int
    write: bool
    outcome: str
    prefetched: bool
    now: int

@final
class Device:
    def __new__(
        cls,
        gpu: str | None,
        with_: str,
        set: Sequence[str],
        check: bool,
        check_data: bool,
        max_instructions: int | None,
    ) -> Device: ...
    def load(self, name: str, text: str) -> tuple[int, list[tuple[str, list[tuple[str, int]]]]]: ...
    def alloc(self, name: str, bytes: int) -> int: ...
    def free(self, start: int) -> None: ...
    def write(self, start: int, from_: Any) -> None: ...
    def read(self, start: int, into: Any) -> None: ...
    def launch(
        self,
        module: int,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        arguments: Sequence[bytes],
        tell: Tell,
        printed: Printed,
    ) -> str: ...
    def warnings(self) -> list[str]: ...

def call(words: Sequence[str], again: Sequence[str], tell: Tell, printed: Printed) -> tuple[bool, str, str]: ...
def main(words: Sequence[str], again: Sequence[str]) -> int: ...
def read_table(path: str | PathLike[str]) -> tuple[list[tuple[str, str | None, Any]], dict[str, str]]: ...
def compress(arrays: Sequence[tuple[str, Any]], codecs: Sequence[str], threshold: float, tell: Tell) -> str: ...
def register(
    name: str,
    description: str,
    seam: str,
    level: str,
    settings: Sequence[tuple[str, str, str]],
    cls: type,
    source: str,
) -> None: ...
