"""Private files with their public tables, and clients of a page, for tests of the page."""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import httpx

import graphcuts_dp as gc
from graphcuts_dp.cli import main
from graphcuts_dp.page.app import make_app
from graphcuts_dp.page.runs import PROGRAM

ZONES = {"Airport": "south", "Harbour": "north", "Old town": "north", "Hill": "south"}
STAFF = [f"p{i}" for i in range(60)]
MAX_UPLOAD = 1 << 20  # bytes
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

PORT, TOKEN = 8999, "a-token"
# Values of the page's form, by field, for each of the private files written below.
TRIPS = {
    "groups": "zones.csv",
    "columns.user": "user",
    "columns.period": "date",
    "columns.on-bad": "skip",
    "kind": "directed",
    "periods": "2026-01..2026-06",
    "privacy-unit": "user",
    "privacy-unit.max-contributions": "20",
    "by": "month",
    "store": "trips.db",
    "epsilon": "1",
}
MAIL = {
    "groups": "staff.csv",
    "vertices": "staff.txt",
    "dry-run": "600",
    "store": "mail.db",
    "epsilon": "4",
}


def write_trips(folder: Path, *, users: int = 200) -> Path:
    """Write trips as a database exports them, some of them unusable, and a list of zones.

    The file has semicolons, decimal commas, and rows without an origin or a date.
    """
    rng = random.Random(3)
    lines = ["user;origin;destination;date;amount"]
    for user in range(users):
        for _ in range(rng.randint(1, 9)):
            origin = rng.choice(["", *ZONES] if rng.random() < 0.1 else [*ZONES])
            date = f"2026-0{rng.randint(1, 6)}-{rng.randint(10, 28)}"
            date = "unknown" if rng.random() < 0.02 else date
            lines.append(f"u{user};{origin};Hill;{date};{rng.randint(1, 9)},50")
    (folder / "trips.csv").write_text("\n".join(lines) + "\n")
    rows = [f"{zone};{district}" for zone, district in ZONES.items()]
    (folder / "zones.csv").write_text("\n".join(["zone;district", *rows]) + "\n")
    return folder / "trips.csv"


def write_contacts(folder: Path) -> Path:
    """Write 300 contacts between wards, with German dates, and a list of wards."""
    rng = random.Random(1)
    wards = ["Ward A", "Ward B", "Ward C", "ICU"]
    rows = [f"{ward};{'north' if i < 2 else 'south'}" for i, ward in enumerate(wards)]
    (folder / "wards.csv").write_text("\n".join(["ward;house", *rows]) + "\n")
    lines = ["patient;from;to;date"]
    for _ in range(300):
        day = f"{rng.randint(1, 28):02}.{rng.randint(1, 6):02}.2025"
        lines.append(f"p{rng.randint(1, 80)};{';'.join(rng.sample(wards, 2))};{day}")
    (folder / "contacts.csv").write_text("\n".join(lines) + "\n")
    return folder / "contacts.csv"


def write_mail(folder: Path) -> Path:
    """Write a graph of mail, dense within three departments, and lists of staff."""
    rng = random.Random(5)
    departments = {name: ("Sales", "IT", "Law")[i % 3] for i, name in enumerate(STAFF)}
    edges = [
        (a, b)
        for i, a in enumerate(STAFF)
        for b in STAFF[:i]
        if rng.random() < (0.6 if departments[a] == departments[b] else 0.1)
    ]
    gc.Graph.of(edges, vertices=STAFF).write(folder / "mail.edges.gz")
    (folder / "staff.txt").write_text("\n".join(STAFF) + "\n")
    rows = [f"{name},{department}" for name, department in departments.items()]
    (folder / "staff.csv").write_text("\n".join(["person,department", *rows]) + "\n")
    return folder / "mail.edges.gz"


def with_paths_in(values: dict[str, str], folder: Path) -> dict[str, str]:
    """Return the values of a form with the names of public files made paths in a folder."""
    files = ("groups", "vertices")
    return {key: str(folder / text) if key in files else text for key, text in values.items()}


class PageClient:
    """A client of a page, with its token; it keeps every reply."""

    def __init__(self, client: httpx.Client, token: str) -> None:
        self.client, self.token = client, token
        self.replies: list[httpx.Response] = []

    def post(
        self, name: str, body: bytes | dict[str, Any] | None = None, *, status: int = 200, **fields
    ) -> Any:
        """Send bytes, or JSON of the fields, to a route; check the status and return the JSON."""
        headers = {"Authorization": f"Bearer {self.token}"}
        content = {"content": body} if isinstance(body, bytes) else {"json": body or fields}
        reply = self.client.post(f"/api/{name}", headers=headers, **content)
        self.replies.append(reply)
        assert reply.status_code == status, reply.text
        return reply.json()

    def file(self, run: str, name: str, *, status: int = 200) -> bytes:
        """Fetch a file of a run."""
        headers = {"Authorization": f"Bearer {self.token}"}
        reply = self.client.get(f"/api/file/{run}/{name}", headers=headers)
        self.replies.append(reply)
        assert reply.status_code == status, reply.text
        return reply.content

    def wait_for(self, run: str) -> dict[str, Any]:
        """Wait until the process of a run has ended, at most two minutes; return its state."""
        for _ in range(2400):
            run_state = self.post("run", run=run)
            if run_state["state"] != "running":
                return run_state
            time.sleep(0.05)
        raise AssertionError("the run does not end")


def open_page(folder: Path, max_upload: int = MAX_UPLOAD) -> PageClient:
    """Return a client of a page in this process, without a network.

    Args:
        folder: of the page's results, created if absent.
        max_upload: bytes of a file that is uploaded, at most.
    """
    folder.mkdir(exist_ok=True)
    app = make_app(folder, TOKEN, PORT, max_upload)
    return PageClient(TestClient(app, base_url=f"http://127.0.0.1:{PORT}"), TOKEN)


class PageProcess:
    """`graphcuts-dp page` in a child process.

    Attributes:
        link: address with the token, as the command prints it.
        client: of the page.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "graphcuts_dp", "page", str(folder), "--no-browser"]
        self.log = folder.with_suffix(".log")
        with self.log.open("ab") as errors:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self.link = re.search(r"http\S+", self.process.stdout.readline())[0]
        self.url, _, token = self.link.partition("#")
        self.client = PageClient(httpx.Client(base_url=self.url, timeout=60), token)

    def end(self, signal_number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and return the exit status."""
        os.kill(self.process.pid, signal_number)
        status = self.process.wait(60)
        self.process.stdout.close()
        self.client.client.close()
        return status


def run_in_a_fork(
    command: list[str], *, timeout: float, **_: object
) -> subprocess.CompletedProcess[str]:
    """Run a command of the package as `subprocess.run` does, but in a fork of this process."""
    program_length = len(PROGRAM)
    assert tuple(command[:program_length]) == PROGRAM
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with warnings.catch_warnings():
            # Python warns of forks in processes with threads; the other threads are idle here.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(int(timeout))
                sys.stdout, sys.stderr = out, err
                sys.argv = ["graphcuts-dp", *command[program_length:]]
                status = main.run_command()
                out.flush()
                err.flush()
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess(command, status, *texts)
