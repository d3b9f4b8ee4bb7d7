"""Real `podium` processes: on pipes, and on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import podium
from tests import warm

FLOWS = Path(__file__).parent / "programs" / "flows.py"
COMMAND = [sys.executable, "-m", "podium"]
PATIENCE_S = 60.0
"""A process that says nothing for so long has hung."""


class Output:
    """What a finished process said."""

    def __init__(self, completed: subprocess.CompletedProcess[bytes]) -> None:
        self.code = completed.returncode
        self.raw = completed.stdout
        self.out = completed.stdout.decode("utf-8")
        self.err = completed.stderr.decode("utf-8")

    @property
    def json(self) -> Any:
        """Exactly one JSON value on stdout."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """One JSON value per line."""
        return [json.loads(line) for line in self.out.splitlines()]


class Shell:
    """A folder with a store of its own, in which `podium` is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._terminals: list[Terminal] = []
        source = str(Path(podium.__file__).parents[1])
        inherited = {
            name: os.environ[name]
            for name in ("PATH", "HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
            if name in os.environ
        }
        self.env = {
            **inherited,
            "PYTHONPATH": source,
            "LANG": "C.UTF-8",
            "PODIUM_STORE": str(folder / "podium.sqlite"),
        }

    def __call__(self, *words: str, stdin: str = "", code: int | None = 0, **env: str) -> Output:
        """Run to the end; `code` is the exit code that must come out (`None`: any)."""
        completed = warm.run(
            [*COMMAND, *words],
            input=stdin.encode(),
            cwd=self.folder,
            env={**self.env, **env},
            timeout=PATIENCE_S,
        )
        output = Output(completed)
        assert code is None or output.code == code, f"exit {output.code}\n{output.out}\n{output.err}"
        return output

    def run(self, flow: str, request: str, *words: str, code: int | None = 0, **env: str) -> Any:
        """Run a workflow of `flows.py` and give its `--json`."""
        return self("run", f"{FLOWS}:{flow}", request, "--json", *words, code=code, **env).json

    def start(self, *words: str, **env: str) -> subprocess.Popen[bytes]:
        """Start in the background, stdout and stderr on pipes."""
        process = warm.Popen(
            [*COMMAND, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env={**self.env, **env},
        )
        self._processes.append(process)
        return process

    def close(self) -> None:
        """Whatever still runs is ended."""
        for process in self._processes:
            process.kill()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
            process.wait()
        for terminal in self._terminals:
            terminal.close()

    def terminal(self, *words: str, columns: int = 100, rows: int = 40, **env: str) -> Terminal:
        """Start on a pseudo-terminal."""
        terminal = Terminal(
            [*COMMAND, *words], self.folder, {**self.env, "TERM": "xterm-256color", **env}, columns, rows
        )
        self._terminals.append(terminal)
        return terminal


class Terminal:
    """A process that believes that a person sits in front of it."""

    def __init__(
        self, command: list[str], folder: Path, env: dict[str, str], columns: int, rows: int
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = warm.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=env, start_new_session=True
        )
        os.close(slave)
        self.raw = b""

    @property
    def seen(self) -> str:
        """Everything so far, without colours and cursor movements."""
        text = self.raw.decode("utf-8", "replace")
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")

    @property
    def screen(self) -> list[str]:
        """The lines that stand on the screen and in its scrollback, after all erasing."""
        lines, row = [""], 0
        for piece in re.findall(
            r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", self.raw.decode("utf-8", "replace")
        ):
            if piece == "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            elif up := re.fullmatch(r"\x1b\[(\d*)A", piece):
                row = max(row - int(up[1] or 1), 0)
            elif piece == "\x1b[2K":
                lines[row] = ""
            elif piece != "\r" and not piece.startswith("\x1b"):
                lines[row] += piece
        return [line.rstrip() for line in lines]

    def until(self, text: str) -> str:
        """Read until `text` was seen."""
        limit = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            assert time.monotonic() < limit, f"{text!r} never came:\n{self.seen}"
            if not self._read():
                assert text in self.seen, f"ended without {text!r}:\n{self.seen}"
        return self.seen

    def more(self) -> None:
        """Read whatever comes next."""
        assert self._read(), f"ended:\n{self.seen}"

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        return self._process.wait(PATIENCE_S)

    def interrupt(self) -> None:
        """Ctrl-C, as the terminal delivers it."""
        self.type("\x03")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE_S)
        if not ready:
            raise AssertionError(f"nothing came for {PATIENCE_S} s:\n{self.seen}")
        try:
            data = os.read(self._master, 65536)
        except OSError:  # how Linux says that the other side has gone
            return False
        self.raw += data
        return bool(data)
