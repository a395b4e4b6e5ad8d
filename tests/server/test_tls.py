"""TLS with a certificate that was made here: the server's own, and nginx before it, under kills."""

import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from processes import ServerProcess, free_port
from server_cases import labelled_graph
from test_process import OPTIONS, connected, under_kills

from graphcuts_dp import ServerError

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "nginx.conf"


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """A certificate for localhost that clients here trust, and its key."""
    files = tmp_path / "certificate.pem", tmp_path / "key.pem"
    line = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    line += ["-out", str(files[0]), "-keyout", str(files[1]), "-subj", "/CN=localhost"]
    line += ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(line, check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
    return files


class Secure(ServerProcess):
    """A server that clients reach by HTTPS, directly or at the port of a proxy."""

    proxy = None

    @property
    def url(self):
        """Where clients ask."""
        return f"https://localhost:{self.proxy or self.port}"


def test_the_server_s_own_certificate(tmp_path, certificate, monkeypatch):
    names = [str(file) for file in certificate]
    process = Secure(
        tmp_path, labelled_graph(), *OPTIONS, "--certificate", names[0], "--key", names[1]
    )
    process.add("ann", preapproved=True)
    try:
        with connected(process) as session:
            assert session.ask(["v1"]).interval[1] > 0
        health = f"localhost:{process.port}/healthz"
        with urllib.request.urlopen(f"https://{health}") as reply:
            assert "max-age" in reply.headers["Strict-Transport-Security"]
        with pytest.raises(OSError, match=r"reset|closed|disconnected|Remote end"):
            urllib.request.urlopen(f"http://{health}")
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(ServerError, match=r"certificate of localhost.* is not trusted"):
            connected(process)
    finally:
        assert process.stop() == 0


@pytest.fixture
def behind_nginx(tmp_path, certificate):
    """A server, and nginx before it with the configuration of the documentation."""
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed: apt-get install nginx-light")
    process = Secure(tmp_path, labelled_graph(), *OPTIONS, "--behind-proxy", "127.0.0.1")
    process.proxy = free_port()
    text = EXAMPLE.read_text()
    for old, new in (
        ("127.0.0.1:8470", f"127.0.0.1:{process.port}"),
        ("listen 443 ssl", f"listen 127.0.0.1:{process.proxy} ssl"),
        ("server_name graphs.example.org", "server_name localhost"),
        ("certificate.pem", str(certificate[0])),
        ("key.pem", str(certificate[1])),
        ("pid nginx.pid", f"pid {tmp_path}/nginx.pid"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "nginx.conf").write_text(text)
    line = ["nginx", "-c", str(tmp_path / "nginx.conf"), "-g", "daemon off;"]
    with (tmp_path / "nginx.txt").open("w") as errors:
        nginx = subprocess.Popen(line, stderr=errors)
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{process.url}/healthz").close()  # noqa: S310
            break
        except urllib.error.URLError:
            time.sleep(0.05)
    yield process
    nginx.terminate()
    nginx.wait(30)
    process.stop()


def test_a_proxy_that_encrypts_through_fifty_kills(behind_nginx):
    assert under_kills(behind_nginx, clients=4, each=600, kills=50, seed=3, up=1.0) == 50
