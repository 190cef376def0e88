"""Commands of the command line: options become words, and the JSON object that comes back is read."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any, Self

from . import _native

Path = str | os.PathLike[str]
Settings = Mapping[str, Any] | Iterable[str]

#: What starts this command line anew, for tasks on a cluster.
AGAIN = [sys.executable, "-m", "stratasim"]


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Options as words of the command line: `check_data=True` is `--check-data`, `with_="bpc"` is `--with=bpc`."""
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif name == "set":
            words += [f"--set={one}" for one in settings_of(value)]
        elif isinstance(value, (list, tuple)):
            words.append(f"{flag}={','.join(map(_word, value))}")
        else:
            words.append(f"{flag}={_word(value)}")
    return words


def _word(value: Any) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def settings_of(settings: Settings | None) -> list[str]:
    """Settings as the command line has them: `{"l2.latency": 200}` is `l2.latency=200`."""
    if settings is None:
        return []
    if isinstance(settings, Mapping):
        return [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in settings.items()]
    return list(settings)


def call(command: list[str], paths: Iterable[Path], options: Mapping[str, Any], progress: bool | None) -> Any:
    """Carries out a command; gives its JSON object."""
    words = [*command, *map(_word, paths), *words_of(options), "--json"]
    with Line(progress) as line:
        _, result, _ = _native.call(words, AGAIN, line.tell, line.printed)
    return json.loads(result)


class Line:
    """How far something is: a line in a notebook or on a terminal, which goes when it has ended."""

    def __init__(self, progress: bool | None) -> None:
        self._display: Any = None
        self._shown = False
        shell = _notebook()
        self._in_notebook = shell is not None and progress is not False
        self._on_terminal = not self._in_notebook and (progress or (progress is None and _terminal()))
        self._next = 0.0

    def __enter__(self) -> Self:
        return self

    def tell(self, text: str, share: float | None) -> None:
        """Shows a text."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + 0.2
        if self._in_notebook:
            self._tell_notebook(text, share)
        elif self._on_terminal:
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{text[:100]}")
            sys.stderr.flush()

    def _tell_notebook(self, text: str, share: float | None) -> None:
        from html import escape

        from IPython.display import HTML, display

        bar = f'<progress value="{share:.3f}" max="1"></progress> ' if share is not None else ""
        shown = HTML(f"{bar}<code>{escape(text)}</code>")
        if self._display is None:
            self._display = display(shown, display_id=True)
        else:
            self._display.update(shown)

    def printed(self, text: bytes) -> None:
        """Shows what a device program printed."""
        sys.stdout.write(text.decode(errors="replace"))

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            from IPython.display import HTML

            self._display.update(HTML(""))
        elif self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _notebook() -> Any:
    """The shell of a notebook, if this is one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if type(shell).__name__ == "ZMQInteractiveShell" else None


def _terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
