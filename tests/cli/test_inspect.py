"""`graphcuts-dp inspect`, and what commands say may be published."""

from fractions import Fraction

import pytest

import graphcuts_dp as gc
from graphcuts_dp import PrivacyGuarantee
from graphcuts_dp.cli.inspect import guarantee_in_words
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.plugins import Cost
from graphcuts_dp.results.bundle import FORMAT, read_receipt, write_receipt

EDGES = "".join(f"{i} {(i + step) % 12}\n" for i in range(12) for step in (1, 3))
VERTEX = ("--privacy-unit", "vertex:max-degree=4")
OUT = ("--output", "out.csv")
READ = ("--vertices", "12", "--epsilon", "2")
# What is made, how, and what inspecting it must say.
PRODUCTS = {
    "release": (
        ("release", "in.edges", "out.csv", *READ),
        ["Release", "12 x 12", "binary", "distance from the noisy matrix at most"],
        ["out.csv.schema.json", "out.csv", "out.csv.noisy.npz"],
    ),
    "release without a graph": (
        ("release", "in.edges", "out.csv", *READ,
         *("--fit", "none", "--privacy-unit", "edge:group-size=3", "--allow-useless")),
        ["12 x 12", "graph  none", "3 edges", "at most 3 edges the guarantee"],
        ["out.csv.noisy.npz"],
    ),
    "sparse": (
        ("release", "in.edges", "out.csv", *READ, "--mechanism", "sparse"),
        ["12 x 12", "fit 'sparse'", "weights, degrees"],
        ["out.csv.schema.json", "out.csv", "out.csv.noisy.npz"],
    ),
    "flows": (
        ("flows", "in.edges", "staff.csv", "out.csv", *READ),
        ["Flows between groups: half", "laplace", "interval of the cell alone"],
        ["out.csv", "out.csv.noisy.npz"],
    ),
    "flows of vertices": (
        ("flows", "in.edges", "staff.csv", "out.csv", *READ, *VERTEX),
        ["1 vertex", "answers count at most 4 edges"],
        ["out.csv", "out.csv.noisy.npz"],
    ),
    "cut": (
        ("cuts", "in.edges", "out.csv", *READ, "--from", "0", "--to", "7/11"),
        ["Partition: least-cut", "worse than the best, at most"],
        ["out.csv", "out.csv.arrays.npz"],
    ),
    "partition": (
        ("cuts", "released.csv", "out.csv", "--partition", "balanced:parts=3"),
        ["Partition: balanced", "in the true graph"],
        ["out.csv", "out.csv.arrays.npz"],
    ),
    "iterative construction": (
        ("release-iteratively", "in.edges", "out.csv", *READ, "--delta", "1e-6",
         *("--construction", "multiplicative-weights:rounds=2")),
        ["Iterative release", "2 of at most 2", "error at most"],
        ["out.csv.schema.json", "out.csv", "out.csv.hypothesis.npz"],
    ),
    "answers": (
        ("release-iteratively", "in.edges", "out.npz", *READ,
         *("--construction", "answers", "--queries", "cuts.csv")),
        ["Iterative release", "k-norm", f"with probability {DEFAULT_PERCENT}"],
        ["out.npz"],
    ),
    "distances": (
        ("distances", "in.edges", "people.csv", "--epsilon", "2", "--group-size", "2", *OUT),
        ["2 people", "where everybody else is"],
        ["out.csv"],
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "in.edges").write_text(EDGES)
    (tmp_path / "staff.csv").write_text(
        "vertex,half\n" + "".join(f"{i},{'a' if i < 6 else 'b'}\n" for i in range(12))
    )
    (tmp_path / "people.csv").write_text("vertex,people\n0,400\n5,300\n7,900\n")
    (tmp_path / "cuts.csv").write_text('S,T\n"0,1",\n0,"2,3"\n')
    return tmp_path


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("product", PRODUCTS)
def test_every_product_has_its_words_and_files_that_changed_are_told(
    product, done, told, refused, folder
):
    made, words, files = PRODUCTS[product]
    if product == "partition":
        done("release", "in.edges", "released.csv", *READ)
    out = next(word for word in made if word.startswith("out."))
    notes = done(*made)[1].splitlines()
    published = f"note: May be published: {', '.join(files)}, {out}.json."
    (note,) = (line for line in notes if line.startswith(published))
    private = {"distances": "Keep to yourself: people.csv", "partition": "May be published"}
    assert private.get(product, "Keep to yourself: in.edges") in note
    text, _ = done("inspect", f"{out}.json")
    expected = (" 2\n", f"Files: {', '.join(files)}: whole", f"\nMay be published: {out}")
    for part in (*words, *expected):
        assert part in text
    read = told("inspect", out)  # the release names its receipt
    assert (read["private"], read["files"]) == (True, files)
    for name in files:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole + b" ")
        assert f"{name} is not the file that the receipt names; it" in refused("inspect", out)
        (folder / name).unlink()
        assert f"{name} is missing;" in refused("inspect", out)
        (folder / name).write_bytes(whole)


def test_a_user_is_named_with_the_bound(done, folder):
    rows = "caller,callee\n" + "".join(f"{i},{(i + 1) % 12}\n" for i in range(12))
    (folder / "calls.csv").write_text(rows)
    user = ("--privacy-unit", "user:max-contributions=5", "--columns", "user=caller")
    done("flows", "calls.csv", "staff.csv", "out.csv", *READ, *user)
    said = "at most 5 rows (or units of weight) of a user count"
    assert said in done("inspect", "out.csv")[0]


def test_a_seeded_run_may_not_be_published(done, told, refused, folder):
    _, err = done("release", "in.edges", "out.csv", *READ, "--seed", "1")
    assert "publish nothing of this" in err.splitlines()[-1]
    text, _ = done("inspect", "out.csv")
    assert (folder / "out.csv.schema.json").exists()
    assert done("inspect", "out")[0] == text
    (folder / "out.b.json").write_text("{}")
    assert "may be any of out.b.json, out.csv.json; name one" in refused("inspect", "out")
    assert text.startswith("NOT PRIVATE")
    assert "May be published: out" not in text
    assert told("inspect", "out.csv")["private"] is False


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "is not a receipt: it is damaged"),
        (b"[1]", "is not a receipt of this version"),
        (b'{"guarantee": {}, "files": {}, "digest": "0"}', "is not a receipt of this version"),
        (b'{"format": %d, "files": {}, "digest": "0"}' % FORMAT, "do not fit its digest"),
        (b'{"format": 3, "digest": "0"}', "read it with the version that wrote it"),
    ],
)
def test_what_is_no_receipt_is_refused(content, message, refused, folder):
    (folder / "x.json").write_bytes(content)
    assert message in refused("inspect", "x.json")
    assert "does not exist" in refused("inspect", "missing")


def test_receipts_with_strange_fields_are_refused_in_a_line(done, refused, folder):
    """A digest is no signature: anybody can make one that fits, of any fields."""
    done("release", "in.edges", "out.csv", *READ)
    file = folder / "out.csv.json"
    whole = read_receipt(file)
    guarantee = whole["guarantee"]
    strange = [
        *({"measurements": value} for value in (3, [], {"a": 1})),
        *({name: value} for name in ("fit", "certificate") for value in (3, [], {"a": 1})),
        *({"guarantee": value} for value in (3, {}, {**guarantee, "epsilon": "much"})),
        *({"guarantee": {**guarantee, "privacy_unit": value}} for value in ("all", "0 edges", 3)),
        *({"guarantee": {**guarantee, "epsilon": value}} for value in (-1, 1e9, None)),
        {"guarantee": {**guarantee, "privacy_unit": "1 vertex"}},
        *({"files": value} for value in ({}, [], {"x\0": "0"}, {"out.csv": 3})),
        *({"format": value} for value in ("other 1", None, [4], True, 3)),
        *({"kind": value} for value in ("songs", "sparse", None, ["release"])),
    ]
    for fields in strange:
        file.unlink()
        write_receipt(file, {**whole, **fields})
        assert refused("inspect", "out.csv").startswith(f"error: {file.name} is "), fields


def test_a_delta_and_an_epsilon_of_nothing():
    words = guarantee_in_words(
        PrivacyGuarantee(epsilon=1.0, delta=1e-6, neighbours="x", public="y")
    )
    assert words["Strength"].endswith("but for a chance of 1e-06.")
    words = guarantee_in_words(PrivacyGuarantee(epsilon=0.0, neighbours="x", public="y"))
    assert words["Strength"].startswith("nothing private was read")


@pytest.mark.parametrize("per_period", [False, True])
def test_a_user_in_one_period_is_told_from_one_in_all(per_period):
    privacy_unit = gc.PrivacyUnit.user(max_contributions=3, per_period=per_period)
    step = PrivacyGuarantee(epsilon=1.0, neighbours="one row", public="y")
    words = guarantee_in_words(privacy_unit.guarantee(step, Cost.of_pure(Fraction(1))))
    assert ("12 times epsilon" in words["People"]) is per_period
    assert "at most 3 rows" in words["The bound"]
