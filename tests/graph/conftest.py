import pytest


@pytest.fixture
def put(tmp_path):
    """Writes a file of this name, text or bytes, and gives its path."""

    def put(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put
