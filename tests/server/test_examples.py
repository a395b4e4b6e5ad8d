"""Examples for administrators: the systemd unit, the container file and the proxy configuration."""

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


def binding_of(arguments: list[str]) -> Binding:
    """Return where a command line of `serve` listens (`serve` is short for `serve start`)."""
    assert arguments[0] == "serve"
    group = loaded_command("serve")
    assert group.first == "start"
    options = group.commands["start"].make_context("start", arguments[1:]).params
    return Binding(
        **{
            field.name: options[field.name]
            for field in fields(Binding)
            if options[field.name] is not None
        }
    )


def run_tool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)


def test_the_unit_starts_a_local_server_and_lets_it_write_in_one_folder():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(EXAMPLES / "graphcuts-dp.service")
    program, *arguments = unit["Service"]["ExecStart"].split()
    assert program.endswith("/graphcuts-dp")
    assert binding_of(arguments).host == "127.0.0.1"
    assert unit["Service"]["UMask"] == "0077"
    assert unit["Service"]["ReadWritePaths"] == unit["Service"]["WorkingDirectory"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze here")
def test_systemd_reports_no_problem_in_the_unit(tmp_path):
    # The program and the user of the unit do not exist here, so only lines on the file count.
    unit = tmp_path / "graphcuts-dp.service"
    text = (EXAMPLES / "graphcuts-dp.service").read_text()
    unit.write_text(re.sub("ExecStart=.*", "ExecStart=/bin/true", text).replace("graphs", "root"))
    process = run_tool("systemd-analyze", "verify", "--man=no", str(unit))
    problems = re.findall(r"graphcuts-dp\.service:\d+: .*", process.stderr)
    assert problems == []


def test_the_image_starts_a_server_behind_a_local_proxy():
    text = (EXAMPLES / "Containerfile").read_text()
    instructions = {
        name: json.loads(words)
        for name, words in re.findall(r"^(ENTRYPOINT|CMD) (\[.*\])$", text, re.MULTILINE)
    }
    program, *arguments = instructions["ENTRYPOINT"] + instructions["CMD"]
    assert program == "graphcuts-dp"
    binding = binding_of(arguments)
    assert (binding.host, binding.behind_proxy) == ("127.0.0.1", "127.0.0.1")
    assert "USER server" in text


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze here")
def test_the_unit_restricts_what_a_compromised_process_can_do():
    """systemd's exposure is at most 3 of 10; without the options of the unit it is above 9."""
    unit = EXAMPLES / "graphcuts-dp.service"
    process = run_tool("systemd-analyze", "security", "--offline=true", "--threshold=30", str(unit))
    assert process.returncode == 0, process.stdout[-300:]


@pytest.mark.slow  # not for its time: few machines have hadolint
@pytest.mark.skipif(not shutil.which("hadolint"), reason="no hadolint here")
def test_hadolint_reports_no_problem_in_the_container_file():
    process = run_tool("hadolint", str(EXAMPLES / "Containerfile"))
    assert process.returncode == 0, process.stdout


def test_the_container_file_has_known_instructions_in_an_order_that_builds():
    """hadolint checks more, in `make test-slow` where it is installed."""
    text = (EXAMPLES / "Containerfile").read_text().replace("\\\n", " ")
    instructions = [line.split(maxsplit=1) for line in text.splitlines() if line and line[0] != "#"]
    names = [name for name, _ in instructions]
    assert set(names) <= {
        "FROM",
        "WORKDIR",
        "COPY",
        "RUN",
        "USER",
        "STOPSIGNAL",
        "HEALTHCHECK",
        "ENTRYPOINT",
        "CMD",
    }
    assert names[0] == "FROM"
    ((_, image),) = [instruction for instruction in instructions if instruction[0] == "FROM"]
    assert re.fullmatch(r"[a-z.]+/[a-z/]+:[\w.-]+", image)  # a registry and a version
    assert not image.endswith(":latest")
    assert names.index("RUN") < names.index("USER") < names.index("ENTRYPOINT") < names.index("CMD")
    for name in ("USER", "ENTRYPOINT", "CMD", "HEALTHCHECK"):
        assert names.count(name) == 1
    arguments = dict(instructions)
    assert arguments["USER"] not in ("root", "0")
    health_check = json.loads(arguments["HEALTHCHECK"].removeprefix("CMD "))
    assert health_check[:2] == ["python", "-c"]
    compile(health_check[2], "HEALTHCHECK", "exec")
    assert "/healthz" in health_check[2]
    for constraints in re.findall(r"-c (\S+\.txt)", arguments["RUN"]):
        assert (EXAMPLES.parents[1] / constraints).is_file()


def test_the_sign_in_proxy_sets_the_headers_that_the_server_reads():
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
