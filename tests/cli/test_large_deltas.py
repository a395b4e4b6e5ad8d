"""Commands say in a line, before they spend, that a delta is too large, and go on."""

import pytest

EDGES = "0\t1\n1\t2\n"
GROUPS = "vertex,group\n0,a\n1,a\n2,b\n3,b\n"
COMMANDS = {
    "flows": ["flows", "mail.edges", "groups.csv", "flows.csv", "--epsilon", "1"],
    "release-iteratively": ["release-iteratively", "mail.edges", "made.graphml", "--epsilon", "1"],
    "session": ["session", "start", "mail.edges", "--store", "mail.db", "--epsilon", "1"],
}
MORE = {
    "flows": ["--noise", "gaussian"],
    "release-iteratively": ["--construction", "multiplicative-weights:rounds=1"],
    "session": ["--queries", "5", "--method", "gaussian"],
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(("delta", "told"), [("0.3", 1), ("1e-6", 0)])
def test_a_line_and_no_refusal(command_line, tmp_path, name, delta, told):
    (tmp_path / "mail.edges").write_text(EDGES)
    (tmp_path / "groups.csv").write_text(GROUPS)
    status, _, err = command_line(*COMMANDS[name], *MORE[name], "--vertices", "4", "--delta", delta)
    line = "warning: delta = 0.3 is above 0.001"
    assert (status, " ".join(err.split()).count(line)) == (0, told), err
