"""The pages: generated regions are up to date, links lead somewhere, code compiles, and what is marked so runs."""

import ast
import dataclasses
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from maddpg.algorithms import ALGORITHMS
from maddpg.cli import train_main

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^(<!-- run -->\n)?```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(page):
    return str(page.relative_to(ROOT))


def python_blocks(page):
    """(line number, whether it is marked to run, source) of the Python code on a page."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, block.start()) + 1, block[1] is not None, block[3])
        for block in BLOCK.finditer(text)
        if block[2] == "python"
    ]


def anchors(page):
    """Names of a page's headings in links, as GitHub makes them."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path):
    """A copy of the pages, to be written to."""
    shutil.copy(ROOT / "README.md", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("images", "*.py"))
    return tmp_path


# The pages as they are ----------------------------------------------------------------------------------------


def test_generated_regions_are_up_to_date():
    script = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_lead_somewhere(page):
    broken = []
    for link in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_code_compiles(page):
    for line, _, source in python_blocks(page):
        ast.parse(source, f"{name(page)}, code at line {line}")


def test_marked_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    marked = [(page, line, source) for page in PAGES for line, run, source in python_blocks(page) if run]
    assert len(marked) >= 3
    for page, line, source in marked:
        exec(compile(source, f"{name(page)}, code at line {line}", "exec"), {"__name__": "page"})


# The generator ------------------------------------------------------------------------------------------------


def test_what_is_out_of_date_is_found_and_written(generate, tree, capsys):
    page = tree / "docs" / "maddpg.md"
    assert generate.main([], tree) == 0
    whole = page.read_text(encoding="utf-8")
    page.write_text(whole.replace("| `--gamma` |", "| `--gama` |"), encoding="utf-8")
    capsys.readouterr()
    assert generate.main(["--check"], tree) == 1
    assert "maddpg.md is out of date" in capsys.readouterr().out
    assert generate.main([], tree) == 0 == generate.main(["--check"], tree)
    assert page.read_text(encoding="utf-8") == whole


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<!-- generated: parameters -->\n<!-- end -->\n", "unknown region 'parameters'; known: tag-parameters"),
        ("<!-- generated: learning -->\ntext\n", "needs an <!-- end -->"),
        ("<!-- generated: learning -->\n<!-- generated: learning -->\n<!-- end -->\n", "needs an <!-- end -->"),
    ],
)
def test_regions_that_cannot_be_filled(generate, tree, text, complaint, capsys):
    (tree / "docs" / "page.md").write_text(text)
    assert generate.main([], tree) == 2
    assert complaint in capsys.readouterr().err


def test_what_was_learned(generate, tree):
    page = tree / "docs" / "page.md"
    page.write_text("<!-- generated: learning -->\nas it was\n<!-- end -->\n")
    generate.main([], tree)
    assert "as it was" in page.read_text()
    keys = ("adversary_return", "controller", "collector", "team_return", "food", "hits", "lost")
    numbers = {key: [10.0 * i, 0.126] for i, key in enumerate(keys)}
    rows = [
        {"adversary": "rules", "team": "random", "episodes": 2000, "seeds": 0, **numbers},
        {"adversary": "trained", "team": "rules", "episodes": 2000, "seeds": 5, **numbers},
    ]
    (tree / generate.LEARNING).parent.mkdir(parents=True)
    (tree / generate.LEARNING).write_text(json.dumps({"rows": rows}))
    generate.main([], tree)
    text = page.read_text()
    assert "| rules | random | 0.0 ± 0.1 | 10.0 ± 0.1 | 20.0 ± 0.1 | 30.0 ± 0.1 | 40.00 ± 0.13 |" in text
    assert "| 2,000 episodes |" in text and "| 5 seeds |" in text and "as it was" not in text
    assert "(../benchmarks/results/learning.json)" in text


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_meanings_of_options_are_those_of_help(generate, capsys, algorithm):
    config = ALGORITHMS[algorithm].config
    with pytest.raises(SystemExit):
        train_main([algorithm, "--help"])
    shown = re.sub(r"[\s│]", "", capsys.readouterr().out)
    meanings = generate.field_docs(config)
    assert set(meanings) == {field.name for field in dataclasses.fields(config)}
    for meaning in meanings.values():
        assert re.sub(r"\s", "", meaning) in shown


def test_text_becomes_markdown(generate):
    assert generate.escaped("runs/<env> | `a<b` a*b [x]") == "runs/&lt;env> \\| `a<b` a\\*b \\[x]"
