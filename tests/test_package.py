"""The package as a whole: what importing it costs, how its layers depend on each other, its documents."""

import ast
import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import pkgutil
import re
import signal
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import blockmix

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "blockmix"
# Where equations are derived: the model and the scores in one page, each sampler beside its code.
DERIVATIONS = [ROOT / "docs" / "method.md", *sorted(SOURCE.glob("samplers/**/README.md"))]
# A layer imports only from itself and from layers before it.
LAYERS = (
    "numerics", "graph", "model", "generators", "tables", "engines", "samplers", "evaluate", "posterior", "inference",
    "report", "experiments", "cli",
)  # fmt: skip
# The only imports of a later layer: methods of the result, which import it when they are called.
LATER_IMPORTS = {
    ("posterior/posterior.py", "blockmix.report.write.InlineReport"),
    ("posterior/posterior.py", "blockmix.report.write.inline_report"),
    ("posterior/posterior.py", "blockmix.report.write.write_report"),
    ("posterior/answers/methods.py", "blockmix.report.pictures.plots.plot_network"),
    ("posterior/answers/methods.py", "blockmix.report.pictures.plots.plot_memberships"),
    ("posterior/answers/methods.py", "blockmix.report.pictures.blocks.plot_blocks"),
}
# Modules that every layer may import.
SHARED = {"errors", "files", "folders", "lazy", "notebook", "stored", "_version"}
# Folders of samplers/ that several samplers share; every other one is a sampler.
SHARED_BY_SAMPLERS = {"langevin", "starts", "ranks"}
# A longer listing has no visible order; a folder that outgrows it is split.
MOST_FILES = 14
# More parameters than this are for options that a person chooses by name: the public functions and the commands.
MOST_PARAMETERS = 8
LONG_SIGNATURES = {
    "cli/commands/fit.py:fit",
    "cli/commands/networks.py:convert",
    "cli/commands/networks.py:simulate",
    "cli/commands/partition.py:partition",
    "cli/commands/resume.py:resume",
    "cli/commands/select.py:select_k",
    "generators/abcd.py:abcd",
    "generators/planted.py:planted",
    "generators/simulate.py:simulate",
    "graph/external/convert.py:convert",
    "graph/reading/read.py:read_graph",
    "inference/choices/select.py:select_communities",
    "inference/fit.py:fit",
    "sklearn.py:MixedMembership.__init__",
}
# What an import may cost; the fastest of several counts, since the others measure what else the machine does.
IMPORT_SECONDS, IMPORT_REPEATS = 1.0, 5
# The number of an equation, as it is cited: a letter, or DC for the popularity model, and its number.
CITED = r"\(((?:DC|[A-Z])\d+)\)"


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
    """Return the names of all modules that can be imported here: the scikit-learn interface needs an extra."""
    left_out = set() if importlib.util.find_spec("sklearn") else {"blockmix.sklearn"}
    found = [
        module.name
        for module in pkgutil.walk_packages(blockmix.__path__, "blockmix.", onerror=lambda _: None)
    ]
    return [name for name in found if not name.endswith("__main__") and name not in left_out]


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
        f"for name in {modules()!r}: importlib.import_module(name)\n"
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


def test_the_change_log_and_the_citation_are_those_of_this_version():
    changes = re.findall(
        r"^## (\S+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert changes[0] == blockmix.__version__
    assert f"\nversion: {blockmix.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


@pytest.mark.parametrize("name", ["blockmix", *(f"blockmix.{layer}" for layer in LAYERS)])
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


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_from_layers_before_it(layer):
    allowed = {*LAYERS[: LAYERS.index(layer) + 1], *SHARED}
    for path in (SOURCE / layer).rglob("*.py"):
        for module in imports_of(path):
            parts = module.split(".")
            if parts[0] == "blockmix" and (path.relative_to(SOURCE).as_posix(), module) not in LATER_IMPORTS:
                assert parts[1] in allowed, f"{path.relative_to(SOURCE)} imports {module}"


def sampler_folders():
    return {path.parent.name for path in SOURCE.glob("samplers/*/__init__.py")}


@pytest.mark.parametrize("folder", sorted(sampler_folders()))
def test_a_folder_of_one_sampler_imports_no_other_sampler(folder):
    others = sampler_folders() - SHARED_BY_SAMPLERS - {folder}
    for path in (SOURCE / "samplers" / folder).rglob("*.py"):
        for module in imports_of(path):
            parts = module.split(".")
            if parts[:2] == ["blockmix", "samplers"]:
                assert parts[2] not in others, f"{path.relative_to(SOURCE)} imports {module}"


def test_every_folder_is_a_layer_and_the_architecture_names_them_in_order():
    folders = {path.parent.relative_to(SOURCE).parts[0] for path in SOURCE.glob("*/__init__.py")}
    assert folders == set(LAYERS)
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert tuple(re.findall(r"^  (\w+)/  ", text, re.MULTILINE)) == LAYERS


def test_no_folder_has_more_files_than_a_reader_can_survey():
    for folder in {path.parent for path in sources()}:
        assert len(list(folder.glob("*.py"))) <= MOST_FILES, folder


def functions_of(path):
    """Return every function of a file with its name, methods as Class.name."""
    tree = ast.parse(path.read_text("utf-8"))
    owners = {id(f): c.name for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for f in c.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            owner = owners.get(id(node))
            yield f"{owner}.{node.name}" if owner else node.name, node.args


def test_only_the_functions_listed_have_more_than_eight_parameters():
    found = set()
    for path in sources():
        for name, arguments in functions_of(path):
            given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            if sum(argument.arg not in ("self", "cls") for argument in given) > MOST_PARAMETERS:
                found.add(f"{path.relative_to(SOURCE).as_posix()}:{name}")
    assert found == LONG_SIGNATURES


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
    builders = pytest.importorskip("hatchling.builders.wheel")
    (wheel,) = builders.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    assert wheel.endswith(f"blockmix-{blockmix.__version__}-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (entry_points,) = (archive.read(n).decode() for n in names if n.endswith("entry_points.txt"))
        (metadata,) = (archive.read(n).decode() for n in names if n.endswith("METADATA"))
    inside = {name for name in names if name.startswith("blockmix/")}
    assert inside == {
        f"blockmix/{p.relative_to(SOURCE).as_posix()}"
        for p in [
            *sources(),
            SOURCE / "py.typed",
            *SOURCE.rglob("*.md"),
            *SOURCE.rglob("*.cu"),
            *(SOURCE / "report" / "assets").rglob("*.*"),
        ]
    }
    assert all(name in inside or ".dist-info/" in name for name in names)
    assert "blockmix = blockmix.cli:main" in entry_points
    assert "License-Expression: BSD-3-Clause" in metadata
    assert "Requires-Python: <3.14,>=3.11" in metadata


def test_the_source_distribution_is_complete(tmp_path):
    builders = pytest.importorskip("hatchling.builders.sdist")
    (archive,) = builders.SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(archive) as packed:
        names = {name.split("/", 1)[1] for name in packed.getnames() if "/" in name}
    kept = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.*"), *(ROOT / "tests").rglob("*.py"), *sources()]
    kept += [
        ROOT / name
        for name in (
            "CITATION.cff",
            "SECURITY.md",
            ".pre-commit-config.yaml",
            "mkdocs.yml",
            ".ci/run",
            "LICENSE",
        )
    ]
    missing = {path.relative_to(ROOT).as_posix() for path in kept if path.suffix != ".pyc"} - names
    assert not missing


def defined_equations():
    """Return the numbers that the derivations define, in bold: **(M1)** or **(S1) A title.**

    Letters come in the order of the documents, so that "(S1) to (P3)" has a meaning.
    """
    found = [n for page in DERIVATIONS for n in re.findall(r"\*\*" + CITED, page.read_text("utf-8"))]
    letters = list(dict.fromkeys(letter_of(number) for number in found))
    return sorted(found, key=lambda number: (letters.index(letter_of(number)), place_of(number)))


def letter_of(number):
    return number.rstrip("0123456789")


def place_of(number):
    return int(number.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))


def cited_equations(text, defined):
    """Return the numbers cited in a text: one by one, or as (M1) to (M3)."""
    cited = set(re.findall(CITED, text))
    for first, last in re.findall(rf"{CITED}\s+to\s+{CITED}", text):
        cited.update(defined[defined.index(first) : defined.index(last) + 1])
    return cited


def test_every_equation_is_defined_once_and_numbers_have_no_gaps():
    defined = defined_equations()
    for letter in {letter_of(number) for number in defined}:
        numbers = [place_of(number) for number in defined if letter_of(number) == letter]
        assert numbers == list(range(1, len(numbers) + 1)), letter


def test_every_equation_that_is_cited_is_defined_and_the_other_way_round():
    defined = defined_equations()
    cited = {n for path in sources() for n in cited_equations(path.read_text("utf-8"), defined)}
    assert cited <= set(defined), f"cited but derived nowhere: {sorted(cited - set(defined))}"
    # Corrections (E) are remarks on the literature: most show only in what the code does not do.
    equations = {n for n in defined if n[0] != "E"}
    assert equations <= cited, f"derived but cited nowhere: {sorted(equations - cited)}"


@pytest.mark.parametrize("page", DERIVATIONS, ids=lambda page: page.parent.name)
def test_a_derivation_refers_to_equations_that_exist(page):
    defined = defined_equations()
    assert cited_equations(page.read_text("utf-8"), defined) <= set(defined)


def test_what_is_cited_as_part_of_the_method_page_is_on_that_page():
    """An equation that has moved beside its sampler is cited by its number alone, or with that README."""
    method = DERIVATIONS[0].read_text("utf-8")
    for path in sources():
        text = path.read_text("utf-8")
        for number in re.findall(rf"{CITED}\s+of\s+docs/method\.md", text):
            assert f"**({number})" in method, f"{path.relative_to(SOURCE)} cites ({number}) of docs/method.md"
        for last in re.findall(r"[Ss]ections?\s[\d, andto]*?(\d+)\s+of\s+docs/method\.md", text):
            assert f"\n## {last}. " in method, (
                f"{path.relative_to(SOURCE)} cites section {last} of docs/method.md"
            )


def readme_block(language):
    (block,) = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    return block


def test_the_readme_and_the_checks_run_the_same_test_command():
    command = 'pip install ".[test]" && pytest'
    assert f"```\n{command}\n```" in (ROOT / "README.md").read_text("utf-8")
    assert f"    {command}\n" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_links_of_the_documents_lead_somewhere():
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *SOURCE.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8")):
            # Reports of the gallery are made when the site is built; tests/test_site.py looks after them.
            made = document.name == "gallery.md" and target.startswith("gallery/")
            assert made or (document.parent / target).exists(), f"{document.name} links to {target}"


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_files_and_names_of_the_code_that_a_document_quotes_are_there(document):
    quoted = re.findall(r"`([\w./-]+)`", (ROOT / document).read_text("utf-8"))
    code = [*sources(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    paths = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if ".git" not in path.parts]
    words = {word for path in code for word in re.findall(r"\w+", path.read_text("utf-8"))}
    for name in quoted:
        if "/" in name or name.endswith((".py", ".md")):
            assert any(f"/{path}".endswith(f"/{name.rstrip('/')}") for path in paths), f"{document}: {name}"
        elif re.fullmatch(r"[A-Za-z_]\w+", name):
            # numba has it, and blockmix does not use it.
            assert name in words | {"prange"}, f"{document}: {name}"


@pytest.mark.slow
def test_the_ten_lines_of_python_in_the_readme_run(tmp_path):
    lines = readme_block("python")
    assert len(lines.splitlines()) == 10
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", lines], cwd=tmp_path, timeout=1200, check=False
    )
    assert done.returncode == 0
    assert blockmix.load(tmp_path / "result").graph.n_nodes == 77


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the lines are those of a Unix shell")
def test_the_ten_lines_of_command_line_in_the_readme_run(tmp_path):
    lines = readme_block("bash")
    assert len(lines.splitlines()) == 10
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["bash", "-euo", "pipefail", "-c", lines]
    environment = os.environ | {"PATH": path}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True) as shell:
        try:
            # Seconds on a machine of its own; a machine that does other work may take many times as long.
            assert shell.wait(timeout=1200) == 0
        finally:
            # A shell that is killed leaves the fit that it waits for running.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    assert len((tmp_path / "run" / "communities.txt").read_text().splitlines()) == 20
