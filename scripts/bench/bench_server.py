"""20 clients at once and one server: nothing lost or doubled, replies at the tick, asks a second.

A graph of 10^5 vertices and 10^6 edges, ten minutes (--quick: a small graph, ten seconds). Each
client has an analyst's session of its own and asks cuts between random sets. Beside it: the same
cuts in a session at home, in this process; and, in the same run, the same requests to a bare
FastAPI application that sends them back. The ratio compares the waits that 99 % are within: with
ticks and durable answers on the one side, and neither on the other.
`--seconds` and `--tick` say otherwise; a tick of 0.001 leaves the work alone. `--folder` is where
the store lies.
"""

import base64
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.server.client import Connection
from graphcuts_dp.session.session import session_of
from scripts.bench.harness import run, server

CLIENTS = 20
QUERIES = 10**5
ECHO = """
import socket
import uvicorn
from fastapi import FastAPI, Request
app = FastAPI()

@app.post("/echo")
async def echo(request: Request):
    return await request.json()

listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, access_log=False, log_config=None)).run(sockets=[listening])
"""


def cut(random, n):
    """A random set, and a random other one."""
    codes = random.integers(3, size=n)
    return codes == 0, codes == 1


def terms():
    """Of each session."""
    return {"epsilon": 1.0, "delta": 1e-6, "queries": QUERIES, "method": "gaussian"}


def at_home(graph, folder, seconds):
    """Asks a second of a session in this process."""
    random = np.random.default_rng(0)
    with session_of(graph, store=folder / "home.db", **terms()) as session:
        begun, asked = time.monotonic(), 0
        while time.monotonic() < begun + seconds:
            session.ask(*cut(random, len(graph.vertices)))
            asked += 1
    return asked / (time.monotonic() - begun)


def served(process, n, seconds):
    """What each client got: answers by number, and how long each took."""
    answers, waits, problems = {}, [], []
    begun = time.monotonic()

    def work(number):
        random = np.random.default_rng(number)
        try:
            token = process.tokens[f"client{number}"]
            with gc.connect(process.url, token, **terms()) as session:
                while time.monotonic() < begun + seconds:
                    start = time.monotonic()
                    answer = session.ask(*cut(random, n))
                    waits.append(time.monotonic() - start)
                    answers.setdefault(number, []).append(answer)
        except Exception as problem:
            problems.append(f"client {number}: {type(problem).__name__}: {problem}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers, np.array(waits), problems, time.monotonic() - begun


def echoed(n, seconds):
    """How long each request to a bare application took, with as many clients."""
    process = subprocess.Popen([sys.executable, "-c", ECHO], stdout=subprocess.PIPE, text=True)
    port, waits = int(process.stdout.readline()), []
    begun = time.monotonic()

    def work(number):
        random = np.random.default_rng(number)
        line = Connection(f"http://127.0.0.1:{port}", "none", timeout=60, certificate=None)
        while time.monotonic() < begun + seconds:
            S, T = (base64.b64encode(np.packbits(mask)).decode() for mask in cut(random, n))
            start = time.monotonic()
            line.ask("POST", "/echo", {"queries": [{"S": {"bits": S}, "T": {"bits": T}}]})
            waits.append(time.monotonic() - start)
        line.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process.terminate()
    process.wait()
    process.stdout.close()
    return np.array(waits)


def history_of(session):
    """The values on the record, without the labels of their sets, which are large."""
    found = []
    while True:
        path = session._path(f"/answers?after={len(found)}&limit=200")
        page = session._connection.ask("GET", path)
        found += [item["answer"]["value"] for item in page["items"]]
        if len(found) >= page["total"]:
            return found


def check(process, answers):
    """Every answer is on the record once, and was charged once."""
    wrong = 0
    for number, found in answers.items():
        with gc.connect(process.url, process.tokens[f"client{number}"], **terms()) as session:
            values = history_of(session)
            left = session.remaining.queries
        wrong += values != [answer.value for answer in found]
        wrong += left != QUERIES - len(found)
    return wrong


def main(quick, seconds, tick, folder):
    """Run it, print a table."""
    n, m = (2000, 20_000) if quick else (100_000, 1_000_000)
    seconds = seconds or (10 if quick else 600)
    random = np.random.default_rng(1)
    graph = gc.Graph(*random.integers(n, size=(2, m)), vertices=n)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        folder = Path(name)
        home = at_home(graph, folder, min(seconds, 30))
        budget = ("--budget", "50,delta=1e-4")
        process = server(folder, graph, *budget, "--tick", str(tick), "--rate", "1000")
        for number in range(CLIENTS):
            process.add(f"client{number}", preapproved=True)
        answers, waits, problems, took = served(process, n, seconds)
        wrong = check(process, answers)
        curator = Connection(process.url, process.tokens["curator"], timeout=60, certificate=None)
        overruns = curator.ask("GET", "/v1/spending")["overruns"]
        curator.close()
        process.stop()
    bare = echoed(n, min(seconds, 60))
    asked = sum(map(len, answers.values()))
    print(f"n = {n:,}, m = {m:,}, {CLIENTS} clients, {took:.0f} s, tick {tick} s")
    print(f"answers               {asked:,}; clients with a wrong record: {wrong}")
    print(f"asks a second         {asked / took:.1f}; in a session at home {home:.1f}")
    middle, late, most = np.quantile(waits, (0.5, 0.99, 1)) / tick
    print(f"wait in ticks         median {middle:.2f}, 99 % {late:.2f}, most {most:.2f}")
    half, slow = np.quantile(waits, (0.5, 0.99))
    bare_half, bare_slow = np.quantile(bare, (0.5, 0.99))
    print(f"wait in ms            median {1000 * half:.0f}, 99 % {1000 * slow:.0f}")
    print(f"of a bare echo        median {1000 * bare_half:.0f}, 99 % {1000 * bare_slow:.0f}")
    print(f"ratio                 median {half / bare_half:.1f}, 99 % {slow / bare_slow:.1f}")
    print(f"replies that overran  {overruns:,}")
    print(f"problems              {problems or 'none'}")


if __name__ == "__main__":
    run(main, __doc__, seconds=float, tick=0.25, folder=str)
