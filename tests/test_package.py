"""The package as a whole: what importing it costs, how its rooms depend on each other, its documents."""

import ast
import importlib
import importlib.metadata
import os
import pkgutil
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import blockmix

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "blockmix"
METHOD = ROOT / "docs" / "method.md"
# A room imports only from itself and from rooms before it; these modules belong to all.
LAYERS = (
    "numerics", "graph", "model", "generators", "tables", "engines", "samplers", "evaluate", "posterior", "inference",
    "report", "experiments", "cli",
)  # fmt: skip
# Methods of a result that lead to rooms below: the only imports downwards, inside the function that needs them.
DOORS = {("posterior/posterior.py", "blockmix.report.write.write_report")}
SHARED = {"errors", "files", "_version"}
# What an import may cost; the fastest of several counts, since the others measure what else the machine does.
IMPORT_SECONDS, IMPORT_REPEATS = 1.0, 5
LETTERS = "MESPGDLBAVCH"


def in_new_process(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def sources():
    return sorted(SOURCE.rglob("*.py"))


def modules():
    for found in pkgutil.walk_packages(blockmix.__path__, "blockmix."):
        if not found.name.endswith("__main__"):
            yield found.name


def test_importing_the_package_takes_less_than_a_second():
    program = (
        "import time\nbegan = time.perf_counter()\nimport blockmix, blockmix.graph\n"
        "print(time.perf_counter() - began)"
    )
    assert min(float(in_new_process(program)) for _ in range(IMPORT_REPEATS)) < IMPORT_SECONDS


def test_importing_the_package_loads_no_compiler():
    program = "import sys, blockmix, blockmix.graph; print('numba' in sys.modules)"
    assert in_new_process(program).strip() == "False"


def test_importing_every_module_compiles_nothing(tmp_path):
    program = (
        "import importlib, sys\n"
        f"for name in {list(modules())!r}: importlib.import_module(name)\n"
        "kernels = {id(v): v for m in list(sys.modules.values()) if m.__name__.startswith('blockmix')\n"
        "           for v in vars(m).values() if hasattr(v, 'signatures') and hasattr(v, 'py_func')}\n"
        "print(len(kernels), sum(len(kernel.signatures) for kernel in kernels.values()))"
    )
    kernels, compiled = in_new_process(program, NUMBA_CACHE_DIR=str(tmp_path)).split()
    assert int(kernels) > 20
    assert int(compiled) == 0
    assert not list(tmp_path.rglob("*.nb?"))


def test_the_version_is_that_of_the_installed_distribution():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", blockmix.__version__)
    assert importlib.metadata.version("blockmix") == blockmix.__version__


@pytest.mark.parametrize("name", ["blockmix", *(f"blockmix.{room}" for room in LAYERS)])
def test_every_public_name_resolves(name):
    package = importlib.import_module(name)
    public = getattr(package, "__all__", [])
    assert len(public) == len(set(public))
    for entry in public:
        assert getattr(package, entry) is not None
    assert set(public) <= set(dir(package))


def test_every_public_object_is_documented():
    for entry in blockmix.__all__:
        value = getattr(blockmix, entry)
        assert isinstance(value, str) or value.__doc__, f"{entry} has no docstring"


@pytest.mark.parametrize("name", ["blockmix", "blockmix.graph"])
def test_a_name_that_is_not_there_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match="nothing"):
        _ = importlib.import_module(name).nothing


def imports_of(path):
    """Every module of blockmix that a file imports, at any depth, also for type checking only."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


@pytest.mark.parametrize("room", LAYERS)
def test_a_room_imports_only_from_rooms_above_it(room):
    allowed = {*LAYERS[: LAYERS.index(room) + 1], *SHARED}
    for path in (SOURCE / room).rglob("*.py"):
        for module in imports_of(path):
            parts = module.split(".")
            if parts[0] == "blockmix" and (path.relative_to(SOURCE).as_posix(), module) not in DOORS:
                assert parts[1] in allowed, f"{path.relative_to(SOURCE)} imports {module}"


def test_every_folder_is_a_room_and_the_architecture_names_them_in_order():
    folders = {path.parent.relative_to(SOURCE).parts[0] for path in SOURCE.glob("*/__init__.py")}
    assert folders == set(LAYERS)
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert tuple(re.findall(r"^  (\w+)/  ", text, re.MULTILINE)) == LAYERS


def test_nothing_is_unpickled_or_evaluated():
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None) or "", *(name.name for name in node.names)]
                bad = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
                assert not bad & {name.split(".")[0] for name in names}, path
            elif isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if isinstance(node.func, ast.Name):
                    assert called not in {"eval", "exec", "compile", "__import__"}, f"{path}:{node.lineno}"
                if ast.unparse(node.func) in {"np.load", "np.save"}:
                    assert "allow_pickle=False" in ast.unparse(node), f"{path}:{node.lineno}"


def test_the_wheel_is_pure_python_and_complete(tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    assert wheel.endswith(f"blockmix-{blockmix.__version__}-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (entry_points,) = (archive.read(n).decode() for n in names if n.endswith("entry_points.txt"))
        (metadata,) = (archive.read(n).decode() for n in names if n.endswith("METADATA"))
    inside = {name for name in names if name.startswith("blockmix/")}
    assert inside == {
        f"blockmix/{p.relative_to(SOURCE).as_posix()}"
        for p in [*sources(), SOURCE / "py.typed", *(SOURCE / "report" / "assets").rglob("*.*")]
    }
    assert all(name in inside or ".dist-info/" in name for name in names)
    assert "blockmix = blockmix.cli:main" in entry_points
    assert "License-Expression: BSD-3-Clause" in metadata
    assert "Requires-Python: <3.14,>=3.11" in metadata


def defined_equations():
    """Numbers of docs/method.md by the section that defines them, in bold: **(M1)** or **(S1) A title.**"""
    found = {}
    for section in METHOD.read_text("utf-8").split("\n## ")[1:]:
        numbers = re.findall(rf"\*\*\(([{LETTERS}]\d+)\)", section)
        assert not set(numbers) & {n for known in found.values() for n in known}, "a number is defined twice"
        found[int(section.split(".")[0])] = numbers
    return found


def expanded(first, last, order):
    """All numbers from first to last, in the order of the document."""
    return order[order.index(first) : order.index(last) + 1]


def cited_equations(text, sections):
    """Numbers cited in a text: one by one, as (M1) to (M3), or all of a section of docs/method.md at once."""
    order = sorted((n for numbers in sections.values() for n in numbers), key=document_order)
    cited = re.findall(rf"\(([{LETTERS}]\d+)\)", text)
    for first, last in re.findall(rf"\(([{LETTERS}]\d+)\)\s+to\s+\(([{LETTERS}]\d+)\)", text):
        cited += expanded(first, last, order)
    for words in re.findall(r"[Ss]ections? (\d+(?:(?:, | and | to )\d+)*) of docs/method.md", text):
        named = [int(number) for number in re.findall(r"\d+", words)]
        if " to " in words:
            named = list(range(named[0], named[-1] + 1))
        for number in named:
            assert number in sections, f"docs/method.md has no section {number}"
            cited += sections[number]
    return set(cited)


def document_order(number):
    return LETTERS.index(number[0]), int(number[1:])


def test_every_equation_that_is_cited_is_defined_and_the_other_way_round():
    sections = defined_equations()
    defined = {n for numbers in sections.values() for n in numbers}
    cited = {n for path in sources() for n in cited_equations(path.read_text("utf-8"), sections)}
    assert cited <= defined, f"cited but not in docs/method.md: {sorted(cited - defined)}"
    # Corrections (E) are remarks on the literature: most show only in what the code does not do.
    equations = {n for n in defined if n[0] != "E"}
    assert equations <= cited, f"in docs/method.md but cited nowhere: {sorted(equations - cited)}"


def test_equations_are_numbered_without_gaps():
    defined = [n for numbers in defined_equations().values() for n in numbers]
    for letter in LETTERS:
        numbers = sorted(int(n[1:]) for n in defined if n[0] == letter)
        assert numbers == list(range(1, len(numbers) + 1)), letter


def readme_block(language):
    (block,) = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    return block


def test_the_readme_and_the_checks_run_the_same_test_command():
    command = 'pip install ".[test]" && pytest'
    assert f"```\n{command}\n```" in (ROOT / "README.md").read_text("utf-8")
    assert f"    {command}\n" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_links_of_the_documents_lead_somewhere():
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


@pytest.mark.slow
def test_the_ten_lines_of_python_in_the_readme_run(tmp_path):
    lines = readme_block("python")
    assert len(lines.splitlines()) == 10
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", lines], cwd=tmp_path, timeout=300, check=False
    )
    assert done.returncode == 0
    assert blockmix.load(tmp_path / "result").graph.n_nodes == 77


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the lines are those of a Unix shell")
def test_the_ten_lines_of_command_line_in_the_readme_run(tmp_path):
    lines = readme_block("bash")
    assert len(lines.splitlines()) == 10
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0
    assert len((tmp_path / "run" / "communities.txt").read_text().splitlines()) == 20
