"""The commands on top of docs/server.md, and its Python, as they stand there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from page_files import make_files

import graphcuts_dp as gc

PAGE = Path(__file__).parents[2] / "docs" / "server.md"


@pytest.mark.thorough
def test_the_quick_start_of_the_page_gives_a_session_and_an_answer(tmp_path):
    """Its grants once had no delta, so that a session with one was refused."""
    make_files(tmp_path)
    commands, python = (
        re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
        for language in ("", "python")
    )
    serve, add = (
        [sys.executable, "-m", "graphcuts_dp", *shlex.split(line, comments=True)[1:]]
        for line in commands.splitlines()
        if line.startswith("graphcuts-dp")
    )
    server = subprocess.Popen(
        [*serve, "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        url = next(
            found[1] for line in server.stdout if (found := re.search(r"listening on (\S+)", line))
        )
        shown = subprocess.run(add, cwd=tmp_path, capture_output=True, text=True, check=True)
        token = re.search(r"gcdp_\S+", shown.stdout)[0]
        (call,) = re.findall(r"with gc.connect\(\n(.*?)\n\) as session", python, re.DOTALL)
        call = re.sub(r'"https://[^"]*"', "url", call)
        session = eval(f"gc.connect({call})", {"gc": gc, "url": url, "token": token})  # noqa: S307
        with session:
            assert session.state == "open"
            (ask,) = re.findall(r"session\.ask\(\[.*?\], \"@Sales\"\)", python)
            answer = eval(ask, {"session": session})  # noqa: S307
            assert answer.guaranteed
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()
