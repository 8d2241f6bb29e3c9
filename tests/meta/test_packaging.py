"""What is in the source tree is also in what pip installs. Skipped where kvoracle is not installed from a wheel."""

import json
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("oracle", "strategies", "targets", "campaigns")


def _installed_files() -> set[str]:
    # A build in the source tree leaves an egg-info there, which is found too; only wheels have a RECORD.
    installed = [one for one in distributions(name="kvoracle") if one.read_text("RECORD")]
    if not installed:
        pytest.skip("kvoracle is not installed, so there is no package to look into")
    origin = json.loads(installed[0].read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        pytest.skip("kvoracle is installed in editable mode, so nothing was packaged")
    return {str(path) for path in installed[0].files or ()}


def test_every_file_of_the_rooms_is_installed() -> None:
    wanted = {
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    lost = sorted(wanted - _installed_files())
    assert not lost, "add them to package-data in pyproject.toml:\n" + "\n".join(lost)


def test_the_license_is_installed() -> None:
    licenses = [name for name in _installed_files() if name.endswith("licenses/LICENSE")]
    assert licenses, "the wheel carries no license"


def test_nothing_but_the_rooms_is_installed_at_the_top_level() -> None:
    top = {name.split("/")[0] for name in _installed_files() if name.endswith(".py")}
    assert top == set(ROOMS), f"installed at the top level: {', '.join(sorted(top))}"
