"""Record the results of fixed seeds anew, or check them, and print what has changed.

    python scripts/golden.py            # all cases of tests/golden
    python scripts/golden.py sessions   # those whose name contains a word; the others stay
    python scripts/golden.py --check    # print what has changed, and write nothing
    python scripts/golden.py --check --exactly  # fits to 1e-9, too: where the record was made
    python scripts/golden.py --names    # the names that can be typed, and no results

Record only what was meant to change, and say in the changelog why it has.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "golden"
RECORD = FOLDER / "answers.json"


def main() -> int:
    """Read the options, run the cases; return status 1 if --check finds a change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "only", nargs="?", default="", help="run only cases whose names contain this text"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare with the record and write nothing"
    )
    parser.add_argument(
        "--exactly",
        action="store_true",
        help="compare fits to 1e-9 as well, on the machine of the record",
    )
    parser.add_argument(
        "--names", action="store_true", help="record all names that can be typed or imported"
    )
    options = parser.parse_args()
    sys.path[:0] = [str(folder) for folder in (FOLDER, *FOLDER.parents[:2])]
    if options.names:
        from golden_names import names

        (FOLDER / "names.json").write_text(json.dumps(names(), indent=1) + "\n")
        return 0
    from golden_cases import CASES
    from golden_facts import EXACTLY, differences

    warnings.simplefilter("ignore")
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    missing = [name for name in known if name not in CASES]
    changed, before = 0, set(known)
    if missing and not options.check:
        print("gone, and taken out of the record:", *missing, sep="\n  ")
    for name, case in CASES.items():
        if options.only not in name:
            continue
        begin = time.process_time()
        outcome = json.loads(json.dumps(case.record(case.make())))
        lines = differences(outcome, known.get(name), EXACTLY if options.exactly else case.fitted)
        if lines:
            changed += 1
            known[name] = outcome
        state = "" if not lines else "new" if name not in before else "changed"
        print(f"{time.process_time() - begin:6.2f} s  {name}  {state}")
        for line in lines[:5] if state == "changed" else ():
            print(f"          {line}")
    print(f"{changed} changed, {len(missing)} gone")
    if not options.check:
        recorded = {name: known[name] for name in CASES if name in known}
        lines = [f"{json.dumps(name)}: {json.dumps(outcome)}" for name, outcome in recorded.items()]
        RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return 0
    return int(changed + len(missing) > 0)


if __name__ == "__main__":
    sys.exit(main())
