"""The quick start of docs/server.md, run as it is printed."""

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
def test_the_quick_start_opens_a_session_and_gets_an_answer(tmp_path):
    """A former version granted no delta, so that its session was refused."""
    make_files(tmp_path)
    commands, python_code = (
        re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
        for language in ("", "python")
    )
    serve_command, add_command = (
        [sys.executable, "-m", "graphcuts_dp", *shlex.split(line, comments=True)[1:]]
        for line in commands.splitlines()
        if line.startswith("graphcuts-dp")
    )
    server = subprocess.Popen(
        [*serve_command, "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        url = next(
            match[1] for line in server.stdout if (match := re.search(r"listening on (\S+)", line))
        )
        added = subprocess.run(
            add_command, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        token = re.search(r"gcdp_\S+", added.stdout)[0]
        (arguments,) = re.findall(
            r"with gc.connect\(\n(.*?)\n\) as session", python_code, re.DOTALL
        )
        arguments = re.sub(r'"https://[^"]*"', "url", arguments)
        session = eval(  # noqa: S307
            f"gc.connect({arguments})", {"gc": gc, "url": url, "token": token}
        )
        with session:
            assert session.state == "open"
            (ask_call,) = re.findall(r"session\.ask\(\[.*?\], \"@Sales\"\)", python_code)
            answer = eval(ask_call, {"session": session})  # noqa: S307
            assert answer.guaranteed
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()
