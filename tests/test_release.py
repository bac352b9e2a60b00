"""What a release promises: one version, one address, and floors that are true."""

import importlib.util
import re
import shutil
import tomllib
from pathlib import Path

import abers

ROOT = Path(__file__).parents[1]


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_written_once_and_cited_right():
    """docs/versioning.md: abers.__version__ is the source of all others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "version" not in project
    citation = (ROOT / "CITATION.cff").read_text("utf-8").splitlines()
    (cited,) = (line for line in citation if line.startswith("version: "))
    assert cited.removeprefix("version: ") == abers.__version__


def test_every_relative_link_of_the_readme_leads_to_a_file():
    links = tool("set_address").LINK.findall((ROOT / "README.md").read_text("utf-8"))
    files = [ROOT / link.partition("#")[0] for _, _, link in links]
    assert files
    assert [file for file in files if not file.exists()] == []


def test_the_readme_can_be_read_at_a_glance():
    """At most six links, and no table of more than five rows."""
    readme = (ROOT / "README.md").read_text("utf-8")
    links = tool("set_address").LINK.findall(readme)
    assert len([text for picture, text, _ in links if not picture]) <= 6
    tables = re.findall(r"(?:^\|.*\n)+", readme, re.MULTILINE)
    assert tables
    assert max(table.count("\n") - 2 for table in tables) <= 5


def test_an_address_is_set_in_all_places_and_only_once(tmp_path):
    """A package index shows the README without the files beside it."""
    files = ("README.md", "pyproject.toml", "CITATION.cff")
    for name in files:
        shutil.copy(ROOT / name, tmp_path)
    set_address = tool("set_address")
    set_address.set_address(tmp_path, "https://example.org/abers")
    once = [(tmp_path / name).read_text("utf-8") for name in files]
    readme, project, citation = once
    assert not set_address.LINK.search(readme)
    assert "(https://example.org/abers/blob/main/docs/guide.md)" in readme
    urls = tomllib.loads(project)["project"]["urls"]
    assert urls["Source"] == "https://example.org/abers"
    assert 'repository-code: "https://example.org/abers"' in citation
    set_address.set_address(tmp_path, "https://example.org/abers")
    assert [(tmp_path / name).read_text("utf-8") for name in files] == once


def test_the_lowest_versions_are_those_of_the_library_before_those_of_its_tests():
    """Tests may ask for more than the library does: scikit-learn, to compare with."""
    project = {
        "dependencies": ["numpy>=2.0", "scikit-learn>=1.6"],
        "optional-dependencies": {
            "cli": ["rich>=13", "protobuf<7"],
            "test": ["abers[cli]", "scikit-learn>=1.8", "pytest>=8"],
        },
    }
    assert tool("lowest").floors(project, ["test"]) == {
        "numpy": "2.0",
        "scikit-learn": "1.6",
        "rich": "13",
        "pytest": "8",
    }


def test_workflows_pin_every_action_to_a_commit():
    """A tag can be moved to other code; a commit cannot."""
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    used = [
        action
        for workflow in workflows
        for action in re.findall(r"uses: (\S+)", workflow.read_text("utf-8"))
    ]
    assert len(workflows) == 2
    assert used
    assert [a for a in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", a)] == []
