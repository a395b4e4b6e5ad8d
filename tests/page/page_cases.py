"""What tests of the page share: private files with their public tables, and a page in a process."""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings

import httpx

import graphcuts_dp as gc
from graphcuts_dp.cli import main
from graphcuts_dp.page.app import make_app
from graphcuts_dp.page.runs import PROGRAM

ZONES = {"Airport": "south", "Harbour": "north", "Old town": "north", "Hill": "south"}
STAFF = [f"p{i}" for i in range(60)]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

PORT, TOKEN = 8999, "a-token"
# Of trips: what the page is told beside the file, by the keys of its fields.
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


def write_trips(folder, *, users=200):
    """What a database exports: semicolons, decimal commas, rows that cannot be used."""
    drawn = random.Random(3)
    lines = ["user;origin;destination;date;amount"]
    for user in range(users):
        for _ in range(drawn.randint(1, 9)):
            start, end = drawn.choice(["", *ZONES] if drawn.random() < 0.1 else [*ZONES]), "Hill"
            date = f"2026-0{drawn.randint(1, 6)}-{drawn.randint(10, 28)}"
            date = "unknown" if drawn.random() < 0.02 else date
            lines.append(f"u{user};{start};{end};{date};{drawn.randint(1, 9)},50")
    (folder / "trips.csv").write_text("\n".join(lines) + "\n")
    rows = [f"{zone};{district}" for zone, district in ZONES.items()]
    (folder / "zones.csv").write_text("\n".join(["zone;district", *rows]) + "\n")
    return folder / "trips.csv"


def write_contacts(folder):
    """Contacts between wards, with German dates."""
    drawn = random.Random(1)
    wards = ["Ward A", "Ward B", "Ward C", "ICU"]
    rows = [f"{ward};{'north' if i < 2 else 'south'}" for i, ward in enumerate(wards)]
    (folder / "wards.csv").write_text("\n".join(["ward;house", *rows]) + "\n")
    lines = ["patient;from;to;date"]
    for _ in range(300):
        day = f"{drawn.randint(1, 28):02}.{drawn.randint(1, 6):02}.2025"
        lines.append(f"p{drawn.randint(1, 80)};{';'.join(drawn.sample(wards, 2))};{day}")
    (folder / "contacts.csv").write_text("\n".join(lines) + "\n")
    return folder / "contacts.csv"


def write_mail(folder):
    """A graph of mail between people of three departments."""
    drawn = random.Random(5)
    part = {name: ("Sales", "IT", "Law")[i % 3] for i, name in enumerate(STAFF)}
    pairs = [(a, b) for i, a in enumerate(STAFF) for b in STAFF[:i]]
    edges = [
        each for each in pairs if drawn.random() < (0.6 if part[each[0]] == part[each[1]] else 0.1)
    ]
    gc.Graph.of(edges, vertices=STAFF).write(folder / "mail.edges.gz")
    (folder / "staff.txt").write_text("\n".join(STAFF) + "\n")
    rows = [f"{name},{department}" for name, department in part.items()]
    (folder / "staff.csv").write_text("\n".join(["person,department", *rows]) + "\n")
    return folder / "mail.edges.gz"


def placed(values, folder):
    """The same values, with the public files of a folder."""
    files = ("groups", "vertices")
    return {key: str(folder / text) if key in files else text for key, text in values.items()}


class Asked:
    """Asks a page, with its token, and keeps every reply."""

    def __init__(self, client, token):
        self.client, self.token = client, token
        self.replies = []

    def post(self, name, body=None, *, status=200, **named):
        headers = {"Authorization": f"Bearer {self.token}"}
        given = {"content": body} if isinstance(body, bytes) else {"json": body or named}
        reply = self.client.post(f"/api/{name}", headers=headers, **given)
        self.replies.append(reply)
        assert reply.status_code == status, reply.text
        return reply.json()

    def file(self, run, name, *, status=200):
        headers = {"Authorization": f"Bearer {self.token}"}
        reply = self.client.get(f"/api/file/{run}/{name}", headers=headers)
        self.replies.append(reply)
        assert reply.status_code == status, reply.text
        return reply.content

    def end_of(self, run):
        """Where a run stands once its process is gone."""
        for _ in range(2400):
            told = self.post("run", run=run)
            if told["state"] != "running":
                return told
            time.sleep(0.05)
        raise AssertionError("the run does not end")


def page_of(folder, largest=1 << 20):
    """The application, asked without a network."""
    folder.mkdir(exist_ok=True)
    app = make_app(folder, TOKEN, PORT, largest)
    return Asked(TestClient(app, base_url=f"http://127.0.0.1:{PORT}"), TOKEN)


class PageProcess:
    """`graphcuts-dp page` in a process of its own."""

    def __init__(self, folder):
        self.folder = folder
        line = [sys.executable, "-m", "graphcuts_dp", "page", str(folder), "--no-browser"]
        self.log = folder.with_suffix(".log")
        with self.log.open("ab") as errors:
            self.running = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=errors, text=True)
        self.link = re.search(r"http\S+", self.running.stdout.readline())[0]
        self.url, _, token = self.link.partition("#")
        self.asked = Asked(httpx.Client(base_url=self.url, timeout=60), token)

    def end(self, how=signal.SIGINT):
        """Stop it; returns its status."""
        os.kill(self.running.pid, how)
        status = self.running.wait(60)
        self.running.stdout.close()
        self.asked.client.close()
        return status


def run_in_a_fork(line, *, timeout, **_):
    """Run a command of ours as `subprocess.run` would, in a fork of this process."""
    program = len(PROGRAM)
    assert tuple(line[:program]) == PROGRAM
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the other threads wait for this
            child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(int(timeout))
                sys.stdout, sys.stderr = out, err
                sys.argv = ["graphcuts-dp", *line[program:]]
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
    return subprocess.CompletedProcess(line, status, *texts)
