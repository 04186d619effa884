"""Write golden.json anew: `python tests/golden/renew.py`, in a commit that says which law or bug changed, and why.

With `--compare` nothing is written; what differs from the file is printed.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
from pathlib import Path

import llvmlite.binding
import numba
import numpy
import scipy

sys.path.insert(0, str(Path(__file__).parent))
import cases

FILE = Path(__file__).with_name("golden.json")


def environment() -> dict[str, str]:
    """What decides how floating-point numbers are rounded: processor and the libraries that compute."""
    return {
        "machine": platform.machine(),
        "processor": llvmlite.binding.get_host_cpu_name(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }


def collect() -> dict[str, cases.Findings]:
    """All findings of all cases."""
    found = {}
    for name in [*cases.FITS, "command line"]:
        with tempfile.TemporaryDirectory() as folder:
            take = cases.command_line_findings if name == "command line" else None
            found[name] = take(Path(folder)) if take else cases.fit_findings(name, Path(folder))
    return found


def main() -> None:
    """Write the file, or compare with it."""
    found = {name: {"digests": f.digests, "numbers": f.numbers} for name, f in collect().items()}
    if "--compare" in sys.argv:
        known = json.loads(FILE.read_text("utf-8"))["cases"]
        for name, case in found.items():
            old = known.get(name, {"digests": {}})["digests"]
            for entry in sorted(old.keys() | case["digests"].keys()):
                if old.get(entry) != case["digests"].get(entry):
                    print(f"{name}: {entry}")
        return
    lines = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(part)}: {json.dumps(case[part], sort_keys=True)}" for part in case)
        + "}"
        for name, case in found.items()
    ]
    head = f'{{"environment": {json.dumps(environment())},\n"cases": {{\n'
    FILE.write_text(head + ",\n".join(lines) + "}}\n", "utf-8")


if __name__ == "__main__":
    main()
