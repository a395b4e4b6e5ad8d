"""The container file and the systemd unit start a server that there is."""

import configparser
import json
import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from graphcuts_dp.cli.main import loaded_command
from graphcuts_dp.server.settings import Binding

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


def parsed(words):
    """Where `serve`, which is `serve start`, listens by these words."""
    assert words[0] == "serve"
    group = loaded_command("serve")
    assert group.first == "start"
    given = group.commands["start"].make_context("start", list(words[1:])).params
    told = {each.name: given[each.name] for each in fields(Binding)}
    return Binding(**{name: value for name, value in told.items() if value is not None})


def test_the_unit_starts_a_server():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(EXAMPLES / "graphcuts-dp.service")
    program, *words = unit["Service"]["ExecStart"].split()
    assert program.endswith("/graphcuts-dp")
    assert parsed(words).host == "127.0.0.1"
    assert unit["Service"]["UMask"] == "0077"
    assert unit["Service"]["ReadWritePaths"] == unit["Service"]["WorkingDirectory"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze here")
def test_systemd_understands_the_unit(tmp_path):
    # Only what it says of the file itself: the program and the user are not on this machine.
    unit = tmp_path / "graphcuts-dp.service"
    text = (EXAMPLES / "graphcuts-dp.service").read_text()
    unit.write_text(re.sub("ExecStart=.*", "ExecStart=/bin/true", text).replace("graphs", "root"))
    line = ["systemd-analyze", "verify", "--man=no", str(unit)]
    found = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    wrong = re.findall(r"graphcuts-dp\.service:\d+: .*", found.stderr)
    assert wrong == []


def test_the_image_starts_a_server():
    text = (EXAMPLES / "Containerfile").read_text()
    lists = {
        name: json.loads(found)
        for name, found in re.findall(r"^(ENTRYPOINT|CMD) (\[.*\])$", text, re.MULTILINE)
    }
    program, *words = lists["ENTRYPOINT"] + lists["CMD"]
    assert program == "graphcuts-dp"
    given = parsed(words)
    assert (given.host, given.behind_proxy) == ("127.0.0.1", "127.0.0.1")
    assert "USER server" in text
