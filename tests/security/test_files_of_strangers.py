"""Files that somebody else wrote: each reader ends in one sentence, within bounds of memory and time.

Every reader is given every bomb of its kind of file, and valid files of which one value is another one. The
source is searched for readers that are not among the guarded ones, so that a new one is noticed.
"""

import io
import json
import os
import re
import resource
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

import dpmosaic
from dpmosaic.common.bounded import DEEPEST, LONGEST_TEXT_BYTES, fraction_of, json_of, read_bytes, toml_of
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError, MosaicError, ProtocolError
from dpmosaic.common.federation.card import Card, FederationList, read_json
from dpmosaic.common.forms.toml_file import read_by_form
from dpmosaic.common.wire import party_pb2 as pb
from dpmosaic.common.wire.statements import decode_statement
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.pgm.archive import write
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from dpmosaic.curator.results.evidence import Evidence
from dpmosaic.curator.results.models import load_model
from dpmosaic.curator.results.storage import TableStorage, load_storage
from dpmosaic.party.drafting.draft import Draft
from dpmosaic.party.operating.backup import restore
from dpmosaic.party.policies.file import FORM
from dpmosaic.simulations.parties.partition import Grid
from support.certificates import certificate_form
from support.mutations import with_other_values

pytestmark = pytest.mark.slow

SOURCE = Path(dpmosaic.__file__).parent
DOMAIN = Domain.from_json({"a": 2, "b": 3})
MORE_BYTES = 400 << 20
"""More memory than any of these files may take."""

JSON = {
    "domain": Domain.load,
    "draft": Draft.load,
    "workload": lambda path: Workload.load(DOMAIN, path),
    "card": lambda path: Card.from_json(read_json(path)),
    "federation": lambda path: FederationList.from_json(read_json(path)),
    "certificate": Certificate.load,
    "storage": load_storage,
    "grid": lambda path: Grid.parse(str(path), DOMAIN, 10),
}
JSON_BOMBS = {
    "nothing": b"",
    "not UTF-8": b"\xff\xfe[]",
    "deep lists": b"[" * 200_000 + b"]" * 200_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deeper than forms are": b'{"a":' * (DEEPEST + 1) + b"1" + b"}" * (DEEPEST + 1),
    "many small lists": b"[" + b"[]," * (1 << 20) + b"[]]",
    "more bytes than are read": b"[" + b" " * LONGEST_TEXT_BYTES + b"]",
    "a long whole number": b'{"a": ' + b"9" * 5000 + b"}",
    "a whole number beyond floats": b'{"a": ' + b"9" * 400 + b"}",
    "NaN": b'{"a": NaN}',
    "minus Infinity": b'{"a": -Infinity}',
    "a number beyond floats": b'{"a": 1e999}',
    "a name twice": b'{"a": 2, "a": 3}',
    "half a character": b'{"\\ud800": 2}',
    "cut": b'{"a": [2, ',
    "null": b"null",
    "a number": b"1",
    "marks and escapes": '{"\\u001b]0;x\\u0007\u202e": 0}'.encode(),
}
TOML = {"plan": ReleasePlan.load, "policy": lambda path: read_by_form(path, FORM)}
TOML_BOMBS = {
    "not UTF-8": b"\xff = 1",
    "deep lists": b"a = " + b"[" * 100_000 + b"]" * 100_000,
    "deep tables": b"a = " + b"{b=" * 5_000 + b"1" + b"}" * 5_000,
    "a long key": b".".join([b"a"] * 100_000) + b" = 1",
    "a long quoted key": b".".join([b'"a"'] * 100_000) + b" = 1",
    "a long heading": b"[" + b".".join([b"a"] * 100_000) + b"]",
    "a long whole number": b"a = 0x" + b"f" * 100_000,
    "more bytes than are read": b"#" * (2 << 20),
    "infinity": b"a = inf",
    "marks and escapes": '"\\u001b]0;x\\u0007\u202e" = 0'.encode(),
}


YAML_BOMBS = {
    "not UTF-8": b"\xff: 1",
    "deep lists": b"[" * (1 << 20),
    "deep lists in lines": b"- " * (1 << 19),
    "deep keys": b"? " * (1 << 19),
    "deep objects": b"{a: " * (1 << 18),
    "a number with a base of 60": b"a: 1" + b":59" * 300_000,
    "a fraction with a base of 60": b"a: 1" + b":59" * 3_000 + b".5",
    "a long whole number": b"a: 0x" + b"f" * 1_000_000,
    "a long whole number in quotes": b"a: !!int '1" + b":59" * 300_000 + b"'",
    "aliases of aliases": b"a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]",
    "a name twice": b"a: 2\na: 3",
    "a name twice as text": b"1: 2\n'1': 3",
    "an object of Python": b"a: !!python/object/apply:os.getcwd []",
    "infinity": b"a: .inf",
    "more bytes than are read": b"#" * (2 << 20),
    "marks and escapes": b'"\\e]0;x\\a\\u202E": 0',
}


@pytest.fixture
def bounded_memory():
    """Fails a test that takes more than `MORE_BYTES` of memory."""
    # The peak so far is forgotten.
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_bytes()
    yield
    assert peak_bytes() - before < MORE_BYTES


def peak_bytes():
    """The most memory that this process has had."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
    return int(line.split()[1]) << 10


def refused(read, path):
    """The one sentence that a reader ends in."""
    with pytest.raises(MosaicError) as raised:
        read(path)
    said = str(raised.value)
    assert said.isprintable()
    assert len(said) < 5000
    return said


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("bomb", JSON_BOMBS)
@pytest.mark.parametrize("reader", JSON)
def test_a_json_bomb_ends_in_one_sentence(tmp_path, reader, bomb):
    (tmp_path / "file.json").write_bytes(JSON_BOMBS[bomb])
    refused(JSON[reader], tmp_path / "file.json")


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("bomb", TOML_BOMBS)
@pytest.mark.parametrize("reader", TOML)
def test_a_toml_bomb_ends_in_one_sentence(tmp_path, reader, bomb):
    (tmp_path / "file.toml").write_bytes(TOML_BOMBS[bomb])
    refused(TOML[reader], tmp_path / "file.toml")


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("bomb", YAML_BOMBS)
def test_a_yaml_bomb_ends_in_one_sentence_and_in_seconds(tmp_path, bomb):
    (tmp_path / "file.yaml").write_bytes(YAML_BOMBS[bomb])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    refused(Domain.load, tmp_path / "file.yaml")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 8


@pytest.mark.parametrize(("reader", "read"), [*(JSON | TOML).items()])
def test_a_named_pipe_is_not_waited_for(tmp_path, reader, read):
    os.mkfifo(tmp_path / "file")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "link"):
        if reader == "storage":
            # Its file is optional.
            assert read(tmp_path / name) == TableStorage()
        else:
            refused(read, tmp_path / name)


def test_what_a_shell_writes_for_a_command_is_read():
    reading, writing = os.pipe()
    os.write(writing, b"{}")
    os.close(writing)
    assert read_bytes(f"/dev/fd/{reading}") == b"{}"
    os.close(reading)


def test_what_people_write_is_read():
    assert json_of('{"a": [1, 2.5, "ä", null, true]}') == {"a": [1, 2.5, "ä", None, True]}
    assert toml_of('[a.b."c d"]\ne.f = 1\r\ntext = "1.2.3"')["a"]["b"]["c d"]["text"] == "1.2.3"
    assert json_of(b"[" * DEEPEST + b"]" * DEEPEST)
    assert fraction_of("3/4") * 4 == 3


ENTRIES = {
    "sizes": 4,
    "texts": {"type": "categorical", "categories": ["S", "M", "x"], "other": "x", "missing": ["NA"]},
    "numbers": {"type": "numeric", "min": 0, "max": 9, "bins": 5, "atoms": [3], "format": "{} kg"},
    "edges": {"type": "numeric", "edges": [0, 1.5, 3], "decimals": 1},
    "truths": {"type": "boolean", "true": ["yes"], "false": ["no"], "nullable": True},
    "dates": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 9, "format": "%d/%m/%Y"},
    "times": {
        **{"type": "timestamp", "min": "2020-01-01", "max": "2020-12-31", "bins": "auto"},
        **{"timezone": "Europe/Berlin", "granularity": "minute"},
    },
    "parts": {"type": "date", "min": "2020-01-01", "max": "2021-12-31", "parts": ["year", "month"]},
    "clock": {"type": "clock", "format": "H:MM", "min": "8:00", "max": "18:00", "bins": 10},
    "names": {"type": "identifier", "pattern": "P-{:06d}"},
}
RULES = [
    {"impossible": {"texts": ["S"], "truths": [True]}},
    {"determines": {"from": "texts", "to": "sizes"}, "map": {"S": 1, "M": 2}},
    {"null": "truths", "when": {"texts": ["S"]}, "only": True},
]


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("name", [*ENTRIES, "rules"])
def test_a_domain_with_any_other_value_is_read_or_refused_in_one_sentence(name):
    def read(form):
        domain = Domain.from_json(json_of(json.dumps(form)))
        assert len(domain.digest()) == 64
        assert all(len(column.draw(2)) == 2 for column in domain.unmodelled if name == "names")

    entries = {"sizes": 4} | {name: ENTRIES[name] for name in ENTRIES if name in ("texts", "truths")}
    if name == "rules":
        forms = [{"attributes": entries, "rules": rules} for rules in with_other_values(RULES)]
    else:
        forms = [{"sizes": 4, name: entry} for entry in with_other_values(ENTRIES[name])]
    read({"attributes": entries, "rules": RULES} if name == "rules" else {"sizes": 4, name: ENTRIES[name]})
    said = []
    for form in forms:
        try:
            read(form)
        except DataError as fault:
            said.append(str(fault))
    assert all(map(str.isprintable, said))
    assert 0 < len(said)


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"a": {"type": "numeric", "min": 0, "max": 1, "bins": 1 << 24}}, "expected from 1 to"),
        (
            {
                name: {"type": "numeric", "min": 0, "max": 1 << 21, "bins": 1 << 20, "nullable": True}
                for name in "ab"
            },
            "bins of all columns",
        ),
        ({"a": {"type": "date", "min": "0002-01-01", "max": "9998-12-31"}}, "expected from 1 to"),
        (
            {"a": {"type": "date", "min": "0002-01-01", "max": "9998-12-31", "parts": ["month"]}},
            "expected from 1 to",
        ),
        ({"a": 2, "b": {"type": "identifier", "pattern": "P-{:0499999999d}"}}, "a pattern with one number"),
        ({"a": {"type": "date", "min": "2020-01-01", "max": "2020-02-01", "format": "%0999Y"}}, "widths"),
        ({f"a{place}": 2 for place in range(70_000)}, "at most 65536 columns"),
        ({"a" * 2000: 2}, "an attribute's name is text of 1 to"),
        (
            {
                "attributes": {"a": 1 << 24, "b": 1 << 24},
                "rules": [{"impossible": {"a": [code], "b": [1]}} for code in range(3)],
            },
            "rules: expected at most",
        ),
    ],
)
def test_a_domain_that_would_take_all_memory_is_refused(form, reason):
    with pytest.raises(DataError, match=reason):
        Domain.from_json(form)


def test_rules_of_which_no_search_finds_a_row_take_seconds_at_most():
    holes = {f"a{place}": [str(hole) for hole in range(11)] for place in range(12)}
    rules = [
        {"impossible": {f"a{one}": [str(hole)], f"a{other}": [str(hole)]}}
        for one in range(12)
        for other in range(one)
        for hole in range(11)
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    Domain.from_json({"attributes": holes, "rules": rules})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 8


def test_a_certificate_with_any_other_value_is_read_or_refused_in_one_sentence():
    form, said = certificate_form(), []
    changed = [{**form, key: other} for key in form for other in with_other_values(form[key])]
    for other in changed[:: len(changed) // 300]:
        try:
            Certificate.from_json(json_of(json.dumps(other))).digest()
        except DataError as fault:
            said.append(str(fault))
    assert all(map(str.isprintable, said))
    assert len(said) > 150


def member(shape, content=b"", descr="|u1"):
    """The bytes of an array whose header states this shape."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": descr, "fortran_order": False, "shape": shape})
    return head.getvalue() + content


def archived(members, method=zipfile.ZIP_STORED):
    """The bytes of an .npz file of these members."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return made.getvalue()


def form_member(text):
    return ("form.npy", member((len(text),), text))


def overlapping():
    """A file in which a thousand members are the same bytes."""
    content = member((1 << 16,), bytes(1 << 16))
    made = bytearray(archived([("a0000.npy", content)]))
    start = made.index(b"PK\1\2")
    entry, end = bytes(made[start:-22]), struct.unpack("<4s4H2LH", made[-22:])
    entries = b"".join(entry.replace(b"a0000", f"a{place:04}".encode()) for place in range(1000))
    return (
        bytes(made[:start]) + entries + struct.pack("<4s4H2LH", *end[:3], 1000, 1000, len(entries), *end[6:])
    )


def pickled():
    made = io.BytesIO()
    np.savez(made, form=np.array([{"a": 1}], dtype=object))
    return made.getvalue()


NPZ_BOMBS = {
    "nothing": lambda: b"",
    "no zip file": lambda: b"PK" * 50,
    "compressed zeros": lambda: archived(
        [("form.npy", member((64 << 20,), bytes(64 << 20)))], zipfile.ZIP_DEFLATED
    ),
    "another compression": lambda: archived([form_member(b"{}")], zipfile.ZIP_LZMA),
    "a header of more bytes than there are": lambda: archived([("form.npy", member((1 << 50,)))]),
    "a header whose size overflows": lambda: archived([("form.npy", member((1 << 40, 1 << 40)))]),
    "a negative shape": lambda: archived([("form.npy", member((-1,), b"x"))]),
    "objects": pickled,
    "texts": lambda: archived([("form.npy", member((1,), bytes(4), "<U1"))]),
    "structures": lambda: archived([("form.npy", member((0,), b"", "(99999999,)<f8"))]),
    "deep JSON": lambda: archived([form_member(b"[" * 200_000 + b"]" * 200_000)]),
    "NaN": lambda: archived([form_member(b'{"format": NaN}')]),
    "no form": lambda: archived([("a.npy", member((1,), b"x"))]),
    "members in each other": overlapping,
    "a comment": lambda: archived([form_member(b"{}")]) + b"x" * 100,
    "cut": lambda: archived([form_member(b"{}")])[:-30],
    "a list in place of the form": lambda: archived([form_member(b"[]")]),
}


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("load", [load_model, Evidence.load], ids=["model", "evidence"])
@pytest.mark.parametrize("bomb", NPZ_BOMBS)
def test_a_model_file_that_is_a_bomb_ends_in_one_sentence(tmp_path, load, bomb):
    (tmp_path / "file.npz").write_bytes(NPZ_BOMBS[bomb]())
    assert "holds no" in refused(load, tmp_path / "file.npz")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_model_file_with_two_members_of_one_name_is_refused(tmp_path):
    (tmp_path / "file.npz").write_bytes(archived([form_member(b'{"format": "a"}'), form_member(b"{}")]))
    assert "holds no" in refused(load_model, tmp_path / "file.npz")


def test_a_damaged_model_file_is_read_or_refused_in_one_sentence(tmp_path):
    path = tmp_path / "file.npz"
    write(path, {"format": "another"}, {"counts": np.arange(5.0)})
    whole, rng = path.read_bytes(), np.random.default_rng(1)
    for _ in range(300):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), 3):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(damaged[: rng.integers(1, len(whole) + 1)] if rng.random() < 0.2 else damaged)
        refused(load_model, path)


def packed(change):
    """A tar file of one plain member, changed."""
    made, content = io.BytesIO(), b'{"format": "dpmosaic backup 1", "files": {"a": "00"}}'
    with tarfile.open(fileobj=made, mode=change.get("mode", "w")) as archive:
        entry = tarfile.TarInfo("manifest.json")
        entry.size = len(content)
        entry.type, entry.linkname = change.get("type", tarfile.REGTYPE), "/etc/passwd"
        archive.addfile(entry, io.BytesIO(change.get("content", content).ljust(entry.size)[: entry.size]))
    return made.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 10_240,
        packed({}),
        packed({"mode": "w:gz"}),
        packed({"mode": "w:xz"}),
        packed({"type": tarfile.SYMTYPE}),
        packed({"type": tarfile.DIRTYPE}),
        packed({"content": b"[]"}),
        packed({"content": b"[" * 40}),
        packed({})[:700],
    ],
    ids=range(10),
)
def test_a_backup_that_is_none_is_refused_and_leaves_nothing(tmp_path, content):
    (tmp_path / "file.tar").write_bytes(content)
    assert "expected a backup" in refused(
        lambda path: restore(path, tmp_path / "home"), tmp_path / "file.tar"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["file.tar"]


@pytest.mark.parametrize("cost", ["1e99999999", "-1", "1/0", "٣", "", "9" * 5000, "1.5", " 1"])
def test_a_cost_in_a_statement_that_is_no_fraction_is_refused_at_once(cost):
    entry = pb.Entry(
        query_id="q", query=bytes(32), kind="marginal", zcdp_rho=cost, delta="0", signature=bytes(64)
    )
    with pytest.raises(ProtocolError, match="no fraction"):
        decode_statement([pb.StatementFrame(entries=[entry]).SerializeToString()])


GUARDED = {
    # Beside the reader: what DuckDB says of a query, what our own daemons log, what a contract checks.
    "json.loads": {
        *("common/bounded.py", "party/sources/ordering.py", "party/sources/query.py"),
        *("simulations/local_network/network.py", "simulations/contracts/mechanism.py"),
    },
    "json.load": set(),
    "tomllib.loads": {"common/bounded.py"},
    "tomllib.load": set(),
    "yaml.load": {"common/bounded.py"},
    "yaml.safe_load": set(),
    "np.load": {"curator/pgm/archive.py"},
    "zipfile.ZipFile": {"curator/pgm/archive.py", "common/files/excel.py"},
    "pd.read_parquet": {"curator/results/parquet_files.py"},
    "pq.read_table": set(),
    "feather.read_table": {"common/files/feather.py"},
    "openpyxl.load_workbook": {"common/files/excel.py"},
    "tarfile.open": {"party/operating/backup.py"},
    "pickle.loads": set(),
    "pickle.load": set(),
    "typer.echo": {"common/showing/telling.py"},
    "typer.secho": {"common/showing/telling.py"},
    "print": set(),
    "Console": set(),
}
"""What may be called only where it is guarded: readers of files, and what prints."""

CALLS = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, GUARDED))})\(")


def test_nothing_reads_files_or_prints_beside_what_is_guarded():
    found = {name: set() for name in GUARDED}
    for folder in ("common", "curator", "party", "simulations", "synthesis"):
        for path in (SOURCE / folder).rglob("*.py"):
            for name in CALLS.findall(path.read_text(encoding="utf-8")):
                found[name].add(path.relative_to(SOURCE).as_posix())
    # What the console renders for a draft is text of its own, escaped before.
    found["Console"] -= {"party/drafting/review_table.py"}
    beyond = {name: places - GUARDED[name] for name, places in found.items() if places - GUARDED[name]}
    assert beyond == {}
    assert found["json.loads"] == GUARDED["json.loads"]
