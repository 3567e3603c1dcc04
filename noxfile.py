"""Sessions for work on DataMind: ``python -m nox --list`` shows them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import nox

nox.needs_version = ">=2025.5.1"  # sessions that require others
nox.options.default_venv_backend = "none"
nox.options.sessions = ["tests", "lint", "types"]

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
REQUIREMENTS = ROOT / "requirements"
CONSTRAINTS = REQUIREMENTS / "constraints.txt"
DIST = ROOT / "dist"
MEMBERS: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["datamind"]["members"]


def python_of(venv: Path) -> str:
    return str(venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


PYTHON = python_of(VENV)


def digest(paths: Iterable[Path]) -> str:
    """Changes with the files, the place of the checkout (editable installs hold it) and the minor Python version."""
    state = hashlib.sha256(f"{ROOT} {sys.implementation.cache_tag}".encode())
    for path in paths:
        state.update(path.name.encode() + path.read_bytes())
    return state.hexdigest()


def is_usable(venv: Path) -> bool:
    """Whether the environment runs, with the Python that nox runs with."""
    probe = [python_of(venv), "-c", "import pip, sys; print(sys.implementation.cache_tag)"]
    try:
        result = subprocess.run(probe, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return result.stdout.strip() == sys.implementation.cache_tag


def install_members(session: nox.Session, venv: Path, *pip_options: str) -> None:
    pip = [python_of(venv), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pip_options]
    session.run(*pip, "-r", str(REQUIREMENTS / "dev.txt"))
    # One command: pip finds a member that another depends on only among the arguments of the same call.
    session.run(*pip, "--no-build-isolation", *(part for member in MEMBERS for part in ("-e", str(ROOT / member))))


def is_current(stamp: Path, state: str) -> bool:
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == state and Path(PYTHON).exists()


@nox.session
def dev(session: nox.Session) -> None:
    """Make or refresh .venv: the tools and every member, editable."""
    stamp = VENV / "datamind-dev.stamp"
    projects = [ROOT / "pyproject.toml", *(ROOT / member / "pyproject.toml" for member in MEMBERS)]
    state = digest([*projects, REQUIREMENTS / "dev.txt", CONSTRAINTS])
    if is_current(stamp, state):
        return
    if not is_usable(VENV):
        # virtualenv comes with nox and works where the venv module has no ensurepip.
        session.run(sys.executable, "-m", "virtualenv", "--quiet", "--clear", str(VENV))
    stamp.unlink(missing_ok=True)
    install_members(session, VENV, "-c", str(CONSTRAINTS))
    stamp.write_text(state, encoding="utf-8")


@nox.session(requires=["dev"])
def demo(session: nox.Session) -> None:
    """Store a few things, ask about them and check the answers; no key, no network."""
    session.run(PYTHON, "-m", "datamind_cli", "demo", *session.posargs)


@nox.session(requires=["dev"])
def tests(session: nox.Session) -> None:
    """Run pytest on two cores; arguments after ``--`` go to it."""
    session.run(PYTHON, "-m", "pytest", "-n", "2", "--dist", "worksteal", *session.posargs)


@nox.session(requires=["dev"])
def crash(session: nox.Session) -> None:
    """Kill a hundred writes of each engine and print what became of them; some minutes."""
    tests = ("tests/e2e/test_kill_engines.py", "tests/e2e/test_kill_writes.py")
    session.run(PYTHON, "-m", "pytest", "-s", *tests, *session.posargs, env={"DATAMIND_TEST_KILLS": "100"})


@nox.session(requires=["dev"])
def assurance(session: nox.Session) -> None:
    """Print the figures behind the promises about writes; name parts after ``--``, none means all; many minutes."""
    session.run(PYTHON, "tests/assurance", *session.posargs)


@nox.session(requires=["dev"])
def lint(session: nox.Session) -> None:
    """Check style and formatting; ``-- --fix`` mends what it can."""
    fix = "--fix" in session.posargs
    session.run(PYTHON, "-m", "ruff", "check", *(["--fix"] if fix else []), ".")
    session.run(PYTHON, "-m", "ruff", "format", *([] if fix else ["--check"]), ".")


@nox.session(requires=["dev"])
def types(session: nox.Session) -> None:
    """Type-check every member, strictly."""
    session.run(PYTHON, "-m", "mypy", "noxfile.py", *(f"{member}/src" for member in MEMBERS))


@nox.session(requires=["dev"])
def sizes(session: nox.Session) -> None:
    """Print the sizes of functions and modules."""
    session.run(PYTHON, "tests/meta/sizes.py")


@nox.session(requires=["dev"], venv_backend="virtualenv")
def packaging(session: nox.Session) -> None:
    """Build every member, install the wheels in a clean environment and use them from an empty folder."""
    shutil.rmtree(DIST, ignore_errors=True)
    for member in MEMBERS:
        session.run(PYTHON, "-m", "build", "--no-isolation", "--outdir", str(DIST), member, external=True, silent=True)
    wheels = DIST / "wheels.txt"
    wheels.write_text("".join(f"{wheel_requirement(member)}\n" for member in MEMBERS), encoding="utf-8")
    everything = wheel_requirement("datamind-cli", "[default]")  # older pips find no wheel for a name with an extra
    session.install("-c", str(wheels), "-c", str(CONSTRAINTS), everything, *MEMBERS)
    session.run("python", "-m", "pip", "check")
    session.chdir(session.create_tmp())
    session.run("datamind", "--version")
    session.run("datamind", "demo")


def wheel_requirement(member: str, extra: str = "") -> str:
    """Pin a member to the wheel just built, so that no index can offer another under its name."""
    (wheel,) = DIST.glob(f"{member.replace('-', '_')}-*.whl")
    return f"{member}{extra} @ {wheel.as_uri()}"


@nox.session(requires=["dev"])
def docs(session: nox.Session) -> None:
    """Build the documentation; ``-- serve`` shows it while you write."""
    stamp = VENV / "datamind-docs.stamp"
    state = digest([VENV / "datamind-dev.stamp", REQUIREMENTS / "docs.txt"])
    if not is_current(stamp, state):
        pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        session.run(*pip, "-c", str(CONSTRAINTS), "-r", str(REQUIREMENTS / "docs.txt"))
        stamp.write_text(state, encoding="utf-8")
    # Without the variable the theme prints an advertisement for its successor.
    session.run(PYTHON, "-m", "mkdocs", *(session.posargs or ["build", "--strict"]), env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session(requires=["dev"])
def transcripts(session: nox.Session) -> None:
    """Put today's output into the pages whose transcripts differ; read the change before you commit it."""
    session.run(PYTHON, "-m", "tests.support.renew_transcripts", *session.posargs)


@nox.session(requires=["dev"])
def bench(session: nox.Session) -> None:
    """Print the benchmark table, peers beside us; name areas after ``--``, none means all."""
    env = {}
    for peers in ("peers", "comparable"):
        if python := peer_python(session, peers):
            env[f"DATAMIND_BENCH_{peers.upper()}"] = python
    session.run(PYTHON, "tests/benchmarks", *session.posargs, env=env)


def peer_python(session: nox.Session, peers: str) -> str | None:
    """The Python of an environment with what we are compared with; the comparable product needs one of its own, since
    it is imported by our name. None where it cannot be installed, which the table then says.
    """
    requirements = REQUIREMENTS / f"bench-{peers}.txt"
    venv = ROOT / ".nox" / f"bench-{peers}"
    stamp, state = venv / "datamind-bench.stamp", digest([requirements])
    if is_current(stamp, state) and is_usable(venv):
        return python_of(venv)
    session.run(sys.executable, "-m", "virtualenv", "--quiet", "--clear", str(venv))
    pip = [python_of(venv), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "-r", str(requirements)]).returncode:
        session.warn(f"{requirements.name} could not be installed; the table goes without")
        return None
    stamp.write_text(state, encoding="utf-8")
    return python_of(venv)


@nox.session(default=False)
def pins(session: nox.Session) -> None:
    """Write requirements/constraints.txt from a fresh environment with the newest versions that fit."""
    venv = Path(session.create_tmp()) / "newest"
    session.run(sys.executable, "-m", "virtualenv", "--quiet", "--clear", str(venv))
    install_members(session, venv, "--upgrade", "-r", str(REQUIREMENTS / "docs.txt"))
    frozen = session.run(python_of(venv), "-m", "pip", "freeze", "--exclude-editable", silent=True)
    head = [line for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    CONSTRAINTS.write_text("\n".join([*head, str(frozen).strip()]) + "\n", encoding="utf-8")
