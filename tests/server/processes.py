"""A server in a process of its own, as the command starts it."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from graphcuts_dp.server.book import Book, book_of
from graphcuts_dp.server.people import People, Person


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Process:
    """`graphcuts-dp serve` on a store in a folder; started again after a kill on the same port.

    Args:
        folder: for the store, the graph and its groups.
        graph: the private one.
        options: of the command.
    """

    def __init__(self, folder, graph, *options):
        self.folder = Path(folder)
        graph.write(self.folder / "mail.npz")
        self.store = self.folder / "mail.db"
        self.tokens = {}
        self.port = 0
        self._options = options
        self.running = None
        self.start()

    def _line(self, port, *options):
        line = [sys.executable, "-m", "graphcuts_dp", "serve", str(self.store)]
        line += ["--graph", str(self.folder / "mail.npz"), "--public-vertices-from-file"]
        return [*line, "--port", str(port), *options]

    def again(self):
        """Status and errors of another one on the same store, which must end by itself."""
        line = self._line(0)
        found = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
        return found.returncode, found.stderr

    def start(self):
        """Start it and wait until it listens."""
        line = self._line(self.port, *self._options)
        self.errors = (self.folder / "errors.txt").open("a")
        self.running = subprocess.Popen(
            line,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            preexec_fn=_allow_hangups,
        )
        for text in self.running.stdout:
            if found := re.search(r"token of the curator: (\S+)", text):
                self.tokens["curator"] = Path(found[1]).read_text().strip()
            if found := re.search(r"listening on (\S+):(\d+)/", text):
                self.port = int(found[2])
                return
        raise AssertionError((self.folder / "errors.txt").read_text())

    @property
    def url(self):
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def add(self, name, **facts):
        """Make a person while the server runs, as `serve access add` does."""
        with closing(Book(book_of(self.store))) as book:
            self.tokens[name] = People(book).add(Person(name=name, **facts), by="console")

    def kill(self):
        """kill -9."""
        self._end(signal.SIGKILL)

    def stop(self, how=signal.SIGTERM):
        """SIGTERM, or another signal; returns the exit status."""
        return self._end(how)

    def _end(self, how):
        if self.running is None:
            return None
        os.kill(self.running.pid, how)
        status = self.running.wait(60)
        self.running.stdout.close()
        self.errors.close()
        self.running = None
        return status


def _allow_hangups():
    """Where the tests run in the background, hang-ups may be ignored, by children too."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
