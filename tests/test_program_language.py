"""Overcooked-v2's program language: what is read, how it is spelled, and what is refused."""

import io
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_texts import programs

from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.program import ProgramError, parse, print_program, renumbered, sequential
from mpe_ext.overcooked_v2.program.__main__ import main
from mpe_ext.overcooked_v2.program.corpus import GROUPS, corpus, digest, load
from mpe_ext.overcooked_v2.program.names import distance
from mpe_ext.overcooked_v2.program.resources import needs
from mpe_ext.overcooked_v2.program.syntax import Do, If, Parallel, Repeat, While, never_ends, walk

# As printed in the paper's appendix A.12 (spelling, labels, columns).
PAPER_EASY = {
    "E1": "if IsOnFire():\n    PutOffFire()\n",
    "E2": "if is_ordered(ChoppedTomato):\n    Serve(ChoppedTomato+Plate)\n",
    "E3": "if is_ordered(ChoppedOnion):\n    Pick(FreshOnion)\n",
}
PAPER_MEDIUM = {
    "B8": "repeat:\n    Pick(FreshTomato)\n",
    "B9": "parallel:\n    1. Pick(FreshOnion)\n    2. Pick(FreshTomato)\n    3. WashDirtyPlate()\n",
    "B10": "if is_ordered(ChoppedTomato):\n    Chop(FreshTomato)\n    Merge(ChoppedTomato,Plate)\n"
    "    Serve(ChoppedTomato+Plate)\n",
}
PAPER_H1 = """\
parallel:
    1: If is_ordered(Onion):
            Merge(ChoppedOnion,Plate)
            Serve(ChoppedOnion)
    2: If is_ordered(Onion):
        Merge(ChoppledTomato,Plate)
        Serve(ChoppedTomato)
    3: while (True):
        If IsOnFire():
            PutOffFire()
"""
PAPER_H2 = """\
def hard2():
    parallel:
        1: Pick(FreshOnion)
            Chop(FreshOnion)
        2:
            Pick(FreshTomato)
            Chop(FreshTomato)
        3: WashDirtyPlate()
        4: Merge(ChoppedOnion,Plate)
           Serve(ChoppedOnion)
        5:
        Merge(ChoppedTomato,Plate)
        Serve(ChoppedTomato+Plate)
"""
PAPER = PAPER_EASY | PAPER_MEDIUM | {"H1": PAPER_H1, "H2": PAPER_H2}

PAR = "parallel:\n    1: Pick(FreshOnion)\n    2: WashDirtyPlate()\n"
# Each line: the text, and all codes of errors in the order of the text.
MALFORMED = [
    ("Pick(FreshOnion", ["E01"]),
    ("Pick FreshOnion)", ["E01"]),
    ("Pick(FreshOnion))", ["E01"]),
    ("Pick(FreshOnion) Pick(FreshOnion)", ["E01"]),
    ("Pick(,)", ["E01"]),
    ("Pick(FreshOnion,)", ["E01"]),
    ("if : Pick(FreshOnion)", ["E01"]),
    ("while IsOnFire(\n    PutOutFire()", ["E01"]),
    ("parallel: {1: Pick(FreshOnion)}", ["E01"]),
    ("Pick(FreshOnion) $", ["E01"]),
    ("repeat(x):\n    Pick(FreshOnion)", ["E01"]),
    ("def f():\nif", ["E01"]),
    ("Pick(FreshOnion)\n    Pick(FreshOnion)", ["E02"]),
    ("if True:\n        Pick(FreshOnion)\n    Pick(FreshOnion)", ["E02"]),
    ("    Pick(FreshOnion)\nPick(FreshOnion)", ["E02"]),
    ("parallel:\n    1: Pick(FreshOnion)\n  2: WashDirtyPlate()", ["E02"]),
    ("Cook(FreshOnions, now)\nStir(Plate)", ["E04", "E03"]),
    ("Boil(FreshOnion)", ["E03"]),
    ("if IsRaining():\n    Pick(FreshOnion)", ["E03"]),
    ("Pick()", ["E04"]),
    ("Pick(FreshOnion, Plate)", ["E04"]),
    ("Merge(Plate)", ["E04"]),
    ("PutOutFire(Plate)", ["E04"]),
    ("Pick(DirtyPlate)", ["E05"]),
    ("Pick(Extinguisher)", ["E05"]),
    ("Pick(Banana)", ["E05"]),
    ("Chop(Plate)", ["E05"]),
    ("Chop(ChoppedOnion)", ["E05"]),
    ("Merge(FreshOnion, Plate)", ["E05"]),
    ("Merge(ChoppedOnion, ChoppedOnion)", ["E05"]),
    ("Merge(ChoppedOnion+Plate, Plate)", ["E05"]),
    ("Serve(Plate)", ["E05"]),
    ("if is_ordered(FreshOnion): Pick(FreshOnion)", ["E05"]),
    ("if is_there(DirtyPlate): WashDirtyPlate()", ["E05"]),
    ("IsOnFire()", ["E06"]),
    ("Tautology()", ["E06"]),
    ("if PutOutFire(): PutOutFire()", ["E06"]),
    ("if True:\nPick(FreshOnion)", ["E07"]),
    ("parallel:\n    1:\n    2: Pick(FreshOnion)", ["E07"]),
    ("parallel {}\nPick(FreshOnion)", ["E07"]),
    ("while IsOnFire() {}\nPick(FreshOnion)", ["E07"]),
    ("repeat(0):\n    Pick(FreshOnion)", ["E08"]),
    ("repeat(17):\n    Pick(FreshOnion)", ["E08"]),
    ("Repeat(Pick(FreshOnion), -1)", ["E08"]),
    ("while True:\n    Pick(FreshOnion)\nChop(FreshOnion)", ["E09"]),
    ("parallel:\n    1: Pick(FreshOnion)\n    1: WashDirtyPlate()", ["E10"]),
    ("parallel:\n    1: Pick(FreshOnion)\n    3: WashDirtyPlate()", ["E10"]),
    ("repeat(9):\n    repeat(8):\n        Pick(FreshOnion)", ["E11"]),
    ("".join(f"{'  ' * i}if True:\n" for i in range(17)) + "  " * 17 + "Pick(FreshOnion)", ["E11"]),
    ("Pick(FreshOnion)\nelse:\n    WashDirtyPlate()", ["E12"]),
    ("elif IsOnFire():\n    PutOutFire()\nPick(FreshOnion)", ["E12"]),
    ("", ["E13"]),
    ("# nothing\n\n", ["E13"]),
    ("while True:\n    if IsOnFire():\n        PutOutFire()", ["E14"]),
    ("parallel:\n    1: while True: Pick(FreshOnion)\n    2: while True: WashDirtyPlate()", ["E14"]),
    ("Boil(Plate)\nPick()\nPick(Banana)\nIsOnFire()\nrepeat(0): Chop(Onion)", ["E03", "E04", "E05", "E06", "E08"]),
    ("Pick(FreshOnion\nChop(", ["E01"]),
    ("if IsOnFire) :\n    Boil(Plate)\nelse:\n    Chop(Plate)", ["E01", "E03", "E12", "E05"]),
]  # fmt: skip


def codes(text, **options):
    with pytest.raises(ProgramError) as caught:
        parse(text, **options)
    return [d.code for d in caught.value.diagnostics if not d.warning]


@pytest.mark.parametrize("text, expected", MALFORMED)
def test_malformed(text, expected):
    assert codes(text) == expected


def test_an_error_shows_where_and_what():
    with pytest.raises(ProgramError) as caught:
        parse("parallel:\n\t1: Pick(FreshOnion)\n\t2: Chopp(Potato)\n")
    assert str(caught.value) == (
        "the program has 1 error\n"
        "3:18: error E05: Potato is not a legal argument of Chop (allowed: FreshTomato; FreshOnion)\n"
        "            2: Chopp(Potato)\n"
        "                     ^^^^^^"
    )


@pytest.mark.parametrize(
    "text, code, where",
    [
        ("repeat:\n    Pick(FreshOnion)", "W02", (1, 1)),
        ("Repeat(Pick(FreshOnion))", "W02", (1, 1)),
        ("parallel:\n    1: Pick(FreshOnion)\n    2: while True: Pick(FreshTomato)", "W03", (3, 8)),
        ("Chop(FreshOnion)", "W04", (1, 1)),
        (PAR + "    3: Pick(FreshOnion)\n", "W06", (4, 8)),
        ("if is_ordered(Onion):\n    Serve(ChoppedTomato)", "W07", (1, 1)),
        ("PutOutFire()", "W08", (1, 1)),
        ("if is_ordered(Onion):\n    Serve(ChoppedOnion)", "W09", (1, 1)),
        ("pick(FreshOnion)", "W01", (1, 1)),
        ("Pick(fo)", "W01", (1, 6)),
    ],
)
def test_warnings(text, code, where):
    assert (code, where) in [(d.code, (d.line, d.column)) for d in parse(text).warnings]


def test_warnings_that_depend_on_options():
    text = "if not IsOnFire():\n    Pick(FreshOnion)\nelif False:\n    WashDirtyPlate()\n"
    assert "W10" not in [d.code for d in parse(text).warnings]
    assert [d.code for d in parse(text, paper=True).warnings].count("W10") == 3
    assert [d.code for d in parse(PAR, n_plates=1).warnings] == []
    assert [d.code for d in parse(PAR, n_plates=0).warnings] == ["W05"]
    disorder = "parallel:\n    2: Pick(FreshOnion)\n    2: WashDirtyPlate()\n"
    assert codes(disorder) == ["E10"]
    assert [(d.code, d.warning) for d in parse(disorder, lenient=True).warnings] == [("E10", True)]
    assert parse("repeat: Pick(FreshOnion)", repeats=5).program.statements[0].times == 5
    for wrong in (0, 17, 2.0, True):
        with pytest.raises(ValueError, match="repeats"):
            parse("Pick(FreshOnion)", repeats=wrong)
    with pytest.raises(TypeError, match="source"):
        parse(None)


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_programs_as_printed(name):
    parsed = parse(PAPER[name])
    assert print_program(parsed.program) == print_program(load(name).program)
    found = {d.code for d in parsed.warnings}
    expected = {
        "E1": {"W01"}, "E2": {"W01", "W04", "W09"}, "E3": {"W01", "W09"}, "B8": {"W02"}, "B9": set(),
        "B10": {"W01", "W04", "W09"}, "H1": {"W01", "W04", "W07", "W09"}, "H2": {"W01"},
    }[name]  # fmt: skip
    assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "parallel(Pick(FreshOnion), WashDirtyPlate())",
        "parallel { { Pick(FreshOnion) }, { WashDirtyPlate() }, }",
        "Parallel: {\n  1: { Pick(FreshOnion); }\n  ,\n  2: {\n    WashDirtyPlate()\n  }\n}",
        "task() {\n parallel { 1: { Pick(FreshOnion) }, 2: { WashDirtyPlate() } }\n}",
        "def task():\n    parallel:\n        Pick(FreshOnion)\n        WashDirtyPlate()",
        "def task():\nPARALLEL\n    1. Pick(FreshOnion)  # an onion\n    2.\n            Wash()  // a plate",
        "parallel:\n\n    1: Pick('FreshOnion')\n\n    2: washdirtyplate()\n\n\n",
        "\tparallel:\n\t\t1: Pick(Onion)\r\n\t\t2: WashPlate()\r\n",
    ],
)
def test_dialects_mean_the_same(text):
    assert print_program(parse(text).program) == print_program(parse(PAR).program)


@pytest.mark.parametrize(
    "text, canonical",
    [
        ("Merge(Plate, ChoppedOnion)", "Merge(ChoppedOnion, Plate)"),
        ("Merge(p, CoCt)", "Merge(ChoppedOnion+ChoppedTomato, Plate)"),
        ("Merge(ct, Plate+ChoppedOnion)", "Merge(ChoppedOnion+Plate, ChoppedTomato)"),
        ("Serve(ChoppedTomato+ChoppedOnion)", "Serve(ChoppedOnion+ChoppedTomato+Plate)"),
        ("Chop(Onion)", "Chop(FreshOnion)"),
        ("Chop(T)", "Chop(FreshTomato)"),
        ("Pick(ChoppledTomato)", "Pick(ChoppedTomato)"),
        ("Pick(pCoCt)", "Pick(ChoppedOnion+ChoppedTomato+Plate)"),
        ("PutOffFire()", "PutOutFire()"),
        ("wash()", "WashDirtyPlate()"),
        ("Srve(pCo)", "Serve(ChoppedOnion+Plate)"),
    ],
)
def test_spelling(text, canonical):
    assert print_program(parse(text).program) == canonical + "\n"


@pytest.mark.parametrize(
    "text, canonical",
    [
        ("is_ordered[t]", "is_ordered(ChoppedTomato+Plate)"),
        ("CheckDemand(Onion)", "is_ordered(ChoppedOnion+Plate)"),
        ("IsOrdered(CoCt)", "is_ordered(ChoppedOnion+ChoppedTomato+Plate)"),
        ("onfire()", "IsOnFire()"),
        ("(is_on_fire())", "IsOnFire()"),
        ("IsThere(p)", "is_there(Plate)"),
        ("Tautology()", "True"),
        ("not (not True)", "not not True"),
    ],
)
def test_conditions(text, canonical):
    assert print_program(parse(f"if {text}: PutOutFire()").program).splitlines()[0] == f"if {canonical}:"


def test_an_inline_block_is_one_call():
    inline = parse("if IsOnFire(): PutOutFire(); WashDirtyPlate()").program
    assert print_program(inline) == "if IsOnFire():\n    PutOutFire()\nWashDirtyPlate()\n"


def test_distance():
    cases = {("", ""): 0, ("a", ""): 1, ("ab", "ba"): 1, ("kitten", "sitting"): 3, ("Pick", "Pik"): 1, ("ca", "abc"): 3}
    assert {pair: distance(*pair) for pair in cases} == cases


@given(programs())
@settings(max_examples=200, deadline=None)
def test_printing_and_parsing_are_inverse(program):
    try:
        parsed = parse(print_program(program))
    except ProgramError as error:  # only what speaks of meaning, not of form
        assert {d.code for d in error.diagnostics if not d.warning} <= {"E09", "E11", "E13", "E14"}
    else:
        assert parsed.program == program


@given(st.text(alphabet="ParlePick(){}:,;+ \n\t1.2FreshOnion#'[]ifwhetu_", max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_text_gives_a_program_or_errors(text):
    try:
        program = parse(text).program
    except ProgramError as error:
        assert any(not d.warning for d in error.diagnostics) and str(error)
    else:
        assert parse(print_program(program)).program == program


@given(
    st.sampled_from(sorted(corpus())),
    st.integers(0, 400),
    st.sampled_from(["", "(", ")", ":", "\n", " ", "if ", "}", "1:"]),
)
@settings(max_examples=300, deadline=None)
def test_damaged_programs(name, place, insertion):
    text = corpus()[name].text
    place %= len(text)
    damaged = text[:place] + insertion + text[place + (not insertion) :]
    try:
        parse(damaged)
    except ProgramError as error:
        lines = damaged.count("\n") + 1
        assert all(1 <= d.line <= lines and d.column >= 1 for d in error.diagnostics)


# The corpus -------------------------------------------------------------------------------------------------------


def test_corpus():
    assert {entry.group for entry in corpus().values()} == set(GROUPS)
    for name, entry in corpus().items():
        assert digest(load(name).program) == entry.digest, name
    with pytest.raises(ValueError, match="did you mean 'H1'"):
        load("H1C")


def test_unseen_programs_are_new_compositions_of_seen_behaviours():
    seen = [n for n, e in corpus().items() if e.group.startswith("seen")]
    known = {s.behaviour for n in seen for s in walk(load(n).program) if isinstance(s, Do)}
    for name, entry in corpus().items():
        if name not in seen:
            assert entry.digest not in {corpus()[n].digest for n in seen}
            assert {s.behaviour for s in walk(load(name).program) if isinstance(s, Do)} <= known


def test_sequential_programs():
    h2 = sequential(load("H2").program)
    assert all(isinstance(s, Do) for s in h2.statements) and len(h2.statements) == 9
    h1 = renumbered(sequential(load("H1c").program))
    (split,) = h1.statements
    assert isinstance(split, Parallel) and [never_ends(b) for b in split.branches] == [False, True]
    assert parse(print_program(h1)).program == h1
    assert print_program(sequential(load("B8").program)) == "Pick(FreshTomato)\n" * 3
    for name in corpus():
        program = renumbered(sequential(load(name).program))
        assert parse(print_program(program)).program == program
        assert not any(isinstance(s, Repeat) for s in walk(program))


@pytest.mark.parametrize(
    "name, loose, clean, dirty",
    [
        ("P1", (), 0, 0),
        ("C1", (t.FRESH_ONION,), 0, 0),
        ("S3", (t.MIX_DISH,), 0, 0),
        ("W", (), 0, 1),
        ("B4", (t.CHOPPED_ONION,), 0, 1),
        ("H1c", (t.CHOPPED_TOMATO, t.CHOPPED_ONION), 2, 0),
        ("H2", (), 1, 0),  # serve, wash what came back, serve again
        ("U1", (), 1, 1),
    ],
)
def test_needs(name, loose, clean, dirty):
    found = needs(load(name).program)
    assert (found.loose, found.clean, found.dirty) == (loose, clean, dirty)


def test_needs_where_plates_do_not_come_back():
    found = needs(load("H2").program, plates_return=False)
    assert (found.clean, found.dirty, found.plates) == (1, 1, 2)
    dishes = parse("repeat(2): Serve(pCo)").program
    assert needs(dishes).plates == 2 and needs(dishes).loose == (t.ONION_DISH,) * 2


def test_tables():
    assert len(t.MERGES) == 6 and len(t.BEHAVIOURS) == 22 and len(t.QUERIES) == 13
    expected = {
        (t.CHOPPED_ONION, t.PLATE): t.ONION_DISH,
        (t.CHOPPED_TOMATO, t.PLATE): t.TOMATO_DISH,
        (t.CHOPPED_ONION, t.CHOPPED_TOMATO): t.MIX,
        (t.ONION_DISH, t.CHOPPED_TOMATO): t.MIX_DISH,
        (t.TOMATO_DISH, t.CHOPPED_ONION): t.MIX_DISH,
        (t.MIX, t.PLATE): t.MIX_DISH,
    }
    assert {pair: t.merged(*pair) for pair in t.MERGES} == expected
    assert all(t.merged(a, b) == t.merged(b, a) for a in range(12) for b in range(12))
    assert sum(bool(t.merged(a, b)) for a in range(12) for b in range(12)) == 12


# The command ------------------------------------------------------------------------------------------------------


def test_command(tmp_path, capsys, monkeypatch):
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text(PAPER_H1)
    bad.write_text("Pick(Banana)\n")
    assert main([str(good)]) == 0
    captured = capsys.readouterr()
    assert captured.out == print_program(load("H1").program)
    assert "7:15: warning W01: 'ChoppedTomato' is written 'ChoppedTomato+Plate' here" in captured.err
    assert main([str(bad)]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and "1:6: error E05: Banana" in captured.err and "     ^^^^^^" in captured.err
    assert main([str(tmp_path / "none")]) == 2
    assert "no program of the corpus" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.StringIO("wash()"))
    assert main(["-"]) == 0
    assert capsys.readouterr().out == "WashDirtyPlate()\n"
    assert main(["H2", "--sequential"]) == 0
    assert capsys.readouterr().out.startswith("Pick(FreshOnion)\nChop(FreshOnion)\n")


def test_else_and_elif():
    text = "if IsOnFire():\n    PutOutFire()\nelif is_there(Plate):\n    Pick(Plate)\nelse:\n    WashDirtyPlate()\n"
    program = parse(text).program
    assert [type(s) for s in walk(program)] == [If, Do, If, Do, Do]
    assert not any(isinstance(s, While) for s in walk(program))
    assert parse(print_program(program)).program == program
