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


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze here")
def test_the_unit_leaves_little_to_a_process_that_is_taken_over():
    """At most 3 of 10 points, by the measure of systemd; without its options it has 9."""
    line = ["systemd-analyze", "security", "--offline=true", "--threshold=30"]
    unit = EXAMPLES / "graphcuts-dp.service"
    found = subprocess.run(
        [*line, str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    assert found.returncode == 0, found.stdout[-300:]


@pytest.mark.skipif(not shutil.which("hadolint"), reason="no hadolint here")
def test_hadolint_finds_nothing_in_the_container_file():
    line = ["hadolint", str(EXAMPLES / "Containerfile")]
    found = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 0, found.stdout


def test_the_container_file_has_instructions_in_an_order_that_builds():
    """What hadolint would say first, where it is not installed."""
    text = (EXAMPLES / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and line[0] != "#"]
    names = [name for name, _ in lines]
    known = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT"}
    assert set(names) <= known | {"CMD"}
    assert names[0] == "FROM"
    ((_, image),) = [line for line in lines if line[0] == "FROM"]
    assert re.fullmatch(r"[a-z.]+/[a-z/]+:[\w.-]+", image)  # a registry and a version
    assert not image.endswith(":latest")
    assert names.index("RUN") < names.index("USER") < names.index("ENTRYPOINT") < names.index("CMD")
    for name in ("USER", "ENTRYPOINT", "CMD", "HEALTHCHECK"):
        assert names.count(name) == 1
    values = dict(lines)
    assert values["USER"] not in ("root", "0")
    check = json.loads(values["HEALTHCHECK"].removeprefix("CMD "))
    assert check[:2] == ["python", "-c"]
    compile(check[2], "HEALTHCHECK", "exec")
    assert "/healthz" in check[2]
    for folder in re.findall(r"-c (\S+\.txt)", values["RUN"]):
        assert (EXAMPLES.parents[1] / folder).is_file()


def test_the_proxy_that_signs_people_in_sets_the_headers_that_the_server_reads():
    text = (EXAMPLES / "nginx-sign-in.conf").read_text()
    comment = " ".join(re.findall("^# (.*)", text, re.MULTILINE))
    options = dict(re.findall(r"--(server-name|person-header|behind-proxy) ([\w.-]+)", comment))
    assert f"proxy_set_header {options['person-header']} $person;" in text
    assert "proxy_set_header X-Proxy-Secret " in text
    assert f"server_name {options['server-name']};" in text
    assert text.count("proxy_set_header Host $http_host;") == 2  # Origin is compared with it
    (secret,) = re.findall(r"X-Proxy-Secret (\S+);", text)
    assert len(secret) >= 32
    assert text.count("{") == text.count("}")
