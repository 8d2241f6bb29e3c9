"""The set-up files agree with each other: one version of each tool, and commands that exist."""

import configparser
import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _read(name: str) -> str:
    return (ROOT / name).read_text()


def _tox() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini")
    return parser


def _pins(text: str, package: str) -> set[str]:
    return set(re.findall(rf"\b{package}==([0-9.]+)", text))


def test_each_tool_has_one_version_everywhere() -> None:
    files = ("tox.ini", ".pre-commit-config.yaml", "README.md", "CONTRIBUTING.md")
    for package in ("torch", "ruff", "mypy"):
        pins = {pin for name in files for pin in _pins(_read(name), package)}
        assert len(pins) == 1, f"{package} is pinned to {', '.join(sorted(pins))}"


def test_documents_and_workflows_name_tox_environments_that_exist() -> None:
    known = {name.removeprefix("testenv:") for name in _tox().sections()} | {"tests"}
    workflows = [str(path) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    for name in ("README.md", "CONTRIBUTING.md", *workflows):
        for wanted in re.findall(r"\btox (?:run )?-e ([a-z0-9]+)", _read(name)):
            assert wanted in known, f"{name} runs tox -e {wanted}, which tox.ini does not have"


def test_the_newest_release_is_the_one_that_is_fuzzed() -> None:
    from targets.sglang.releases import NEWEST

    for name in ("tox.ini", "README.md"):
        pins = _pins(_read(name), "sglang")
        assert pins == {NEWEST}, f"{name} speaks of {pins}, and the newest supported is {NEWEST}"


def test_the_readme_has_one_test_command_for_ci_to_run() -> None:
    found = re.search(r"<!-- the tests -->(.*?)<!-- end -->", _read("README.md"), re.DOTALL)
    assert found is not None, "README.md lost the marks between which CI finds its command"
    commands = [line for line in found.group(1).splitlines() if line.startswith("python3 ")]
    assert len(commands) == 1, f"CI wants one command and finds {commands}"


def test_the_ci_script_is_sound_bash_and_executable() -> None:
    script = ROOT / ".ci" / "run"
    checked = subprocess.run(
        ["bash", "-n", str(script)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert script.stat().st_mode & 0o100, ".ci/run is not executable"


def test_the_license_is_the_one_that_the_package_names() -> None:
    project = tomllib.loads(_read("pyproject.toml"))["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in _read("LICENSE")


def test_no_two_test_files_share_a_name() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    twice = sorted({name for name in names if names.count(name) > 1})
    assert not twice, f"pytest takes files of one name for one module: {', '.join(twice)}"
