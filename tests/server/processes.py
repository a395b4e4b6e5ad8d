"""A server in a child process, as the command `graphcuts-dp serve` starts it."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import graphcuts_dp as gc
from graphcuts_dp.server.book import Book, book_of
from graphcuts_dp.server.people import People, Person


def free_port() -> int:
    """Return a port on which no program listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServerProcess:
    """`graphcuts-dp serve` on a store in a folder; it keeps its port when it is started again.

    Args:
        folder: for the store and the graph.
        graph: the private graph.
        options: of the command.
    """

    def __init__(self, folder: Path | str, graph: gc.Graph, *options: str) -> None:
        self.folder = Path(folder)
        graph.write(self.folder / "mail.npz")
        self.store = self.folder / "mail.db"
        self.tokens: dict[str, str] = {}  # of persons, by name
        self.port = 0
        self._options = options
        self.running: subprocess.Popen[str] | None = None
        self.start()

    def _command(self, port: int, *options: str) -> list[str]:
        command = [sys.executable, "-m", "graphcuts_dp", "serve", str(self.store)]
        command += ["--graph", str(self.folder / "mail.npz"), "--public-vertices-from-file"]
        return [*command, "--port", str(port), *options]

    def run_second_server(self) -> tuple[int, str]:
        """Run another server on the same store until it ends; return its status and errors."""
        process = subprocess.run(
            self._command(0), capture_output=True, text=True, timeout=60, check=False
        )
        return process.returncode, process.stderr

    def start(self) -> None:
        """Start the server and wait until it listens."""
        self.errors = (self.folder / "errors.txt").open("a")
        self.running = subprocess.Popen(
            self._command(self.port, *self._options),
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            preexec_fn=_allow_hangups,
        )
        for line in self.running.stdout:
            if match := re.search(r"token of the curator: (\S+)", line):
                self.tokens["curator"] = Path(match[1]).read_text().strip()
            if match := re.search(r"listening on (\S+):(\d+)/", line):
                self.port = int(match[2])
                return
        raise AssertionError((self.folder / "errors.txt").read_text())

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def add(self, name: str, **fields: object) -> None:
        """Add a person while the server runs, as `serve access add` does, and keep the token."""
        with closing(Book(book_of(self.store))) as book:
            self.tokens[name] = People(book).add(Person(name=name, **fields), by="console")

    def kill(self) -> None:
        """Send SIGKILL and wait for the end."""
        self.stop(signal.SIGKILL)

    def stop(self, signal_number: signal.Signals = signal.SIGTERM) -> int | None:
        """Send a signal and return the exit status; None if the server does not run."""
        if self.running is None:
            return None
        os.kill(self.running.pid, signal_number)
        status = self.running.wait(60)
        self.running.stdout.close()
        self.errors.close()
        self.running = None
        return status


def _allow_hangups() -> None:
    """Undo that `nohup` lets processes and their children ignore SIGHUP."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
