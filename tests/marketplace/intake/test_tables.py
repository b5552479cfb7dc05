"""S6: tables as Excel and people write them; every row is accounted for."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marketplace.intake import (
    TableRefused,
    UploadLimits,
    UploadOptions,
    UploadRefused,
    UploadSchema,
    content_sha256_row,
    content_sha256_text,
    plan_upload,
    row_entry,
    text_entry,
)

TEXT = UploadSchema("text", ("POS", "NEG"))
EXCEL = 'text;label\r\n"Größe; ""groß""\r\nzweite Zeile";POS\r\n'
GROWN = UploadSchema(
    "tabular",
    ("yes", "no"),
    columns=({"name": "age", "type": "number"}, {"name": "job", "type": "category"}),
    attributes=("sex",),
)


def plan(tmp_path, data, schema=TEXT, name="a.csv", limits=None, **options):
    path = tmp_path / "received"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return plan_upload(name, path, schema, limits or UploadLimits(), UploadOptions(**options))


@pytest.mark.parametrize(
    "data, encoding",
    [
        (b"\xef\xbb\xbf" + EXCEL.encode(), "utf-8-sig"),
        (EXCEL.encode("cp1252"), "cp1252"),
        (EXCEL.encode("utf-16-le"), "utf-16-le"),
        (b"\xff\xfe" + EXCEL.encode("utf-16-le"), "utf-16-le"),
        (b"\xfe\xff" + EXCEL.encode("utf-16-be"), "utf-16-be"),
    ],
)
def test_the_same_sheet_in_each_encoding_gives_the_same_row(tmp_path, data, encoding):
    found = plan(tmp_path, data)
    (entry,) = found.entries
    assert entry.kind == "data"
    assert entry.text == 'Größe; "groß"\r\nzweite Zeile'
    assert entry.label == "POS"
    assert (found.encoding, found.delimiter, found.columns) == (encoding, ";", ("text", "label"))


def test_encoding_and_delimiter_can_be_corrected(tmp_path):
    found = plan(tmp_path, "text|label\nGröße|POS\n".encode("mac_roman"), encoding="mac_roman", delimiter="|")
    assert found.entries[0].text == "Größe"
    with pytest.raises(TableRefused, match="Line 2: byte 13 cannot be read as utf-8"):
        plan(tmp_path, "text|label\nGröße|POS\n".encode("mac_roman"), encoding="utf-8")
    with pytest.raises(TableRefused, match="no encoding named"):
        plan(tmp_path, EXCEL, encoding="klingon")


@pytest.mark.parametrize("data", ["text;label\r\n", "text,label", "text,label\n\n , \n"])
def test_a_header_alone_has_no_rows(tmp_path, data):
    with pytest.raises(TableRefused, match="no rows"):
        plan(tmp_path, data)


def test_a_nul_byte_is_refused_with_its_place(tmp_path):
    with pytest.raises(TableRefused, match="Line 2, column 3: a NUL byte") as caught:
        plan(tmp_path, b"text,label\nab\0c,POS\n")
    assert caught.value.where == "line 2, column 3"


def test_a_bad_row_costs_itself_only(tmp_path):
    found = plan(tmp_path, "text,label\nfine,POS\nthree,POS,x\n,NEG\nhi,\nno,BAD\n\nlast,NEG\n")
    assert [e.locator for e in found.of("data")] == ["row 1", "row 6 (line 8)"]
    reasons = [e.reason for e in found.of("refused")]
    assert reasons[0] == "Row 2: it has 3 cells, the header has 2."
    assert "the text is empty" in reasons[1]
    assert "no label" in reasons[2]
    assert "“BAD” is not a class" in reasons[3]
    assert len(found.entries) == 6


def test_missing_and_doubled_columns_are_named(tmp_path):
    with pytest.raises(TableRefused, match=r"“text” is missing. The file has: “body”, “label”"):
        plan(tmp_path, "body,label\nx,POS\n")
    with pytest.raises(TableRefused, match="Two columns are named “Label”"):
        plan(tmp_path, "text,label,Label\nx,POS,NEG\n")
    assert plan(tmp_path, " Text ,LABEL\nx,POS\n").of("data")[0].text == "x"


def test_a_file_of_many_columns_says_how_many_it_left_out(tmp_path):
    names = [f"c{n}" for n in range(14)]
    with pytest.raises(TableRefused, match=r"“c11” … and 2 more\. Rename"):
        plan(tmp_path, f"{','.join(names)}\n{','.join('x' * 14)}\n".encode())


def test_an_open_quote_is_refused_with_its_line(tmp_path):
    with pytest.raises(TableRefused, match="begins on line 3"):
        plan(tmp_path, 'text,label\na,POS\n"b,POS\nc,NEG\n')


def test_labels_are_matched_and_told(tmp_path):
    found = plan(tmp_path, "text,label\na,POS\u00a0\nb,pos\n")
    assert found.of("data")[0].label == "POS"
    assert "1 × “POS” was taken as the class “POS”" in found.notices[0]
    assert found.questions[0].suggestion == "POS"


def test_json_lines_are_rows_too(tmp_path):
    lines = [
        json.dumps({"text": "a\nb", "label": "POS"}),
        "{broken",
        "[1]",
        '{"text": 5, "label": "POS"}',
        '{"text": "x", "label": "NEG"}',
    ]
    found = plan(tmp_path, "\n".join(lines), name="a.jsonl")
    assert [e.text for e in found.of("data")] == ["a\nb", "x"]
    assert [e.reason.split(":")[0] for e in found.of("refused")] == [
        "Row 2 (line 2)",
        "Row 3 (line 3)",
        "Row 4 (line 4)",
    ]
    assert found.format == "jsonl"
    assert len(plan(tmp_path, '[{"text": "x", "label": "NEG"}]', name="a.json").of("data")) == 1


def test_json_that_is_nested_to_the_bottom_is_refused(tmp_path):
    found = plan(tmp_path, '{"text": "x", "label": "NEG"}\n{"a": ' + "[" * 100_000, name="a.jsonl")
    assert [e.kind for e in found.entries] == ["data", "refused"]
    with pytest.raises(TableRefused):
        plan(tmp_path, "[" * 100_000, name="a.json")


def test_rows_are_typed_and_groups_taken(tmp_path):
    found = plan(tmp_path, "age,job,label,sex\n39,nurse,yes,f\n?,,no,\n4e1,x,no,m\nold,x,no,m\n", GROWN)
    assert [dict(e.row or {}) for e in found.of("data")] == [
        {"age": 39, "job": "nurse"},
        {"age": None, "job": None},
        {"age": 40.0, "job": "x"},
        {"age": "old", "job": "x"},
    ]
    assert [dict(e.attributes) for e in found.entries] == [{"sex": "f"}, {}, {"sex": "m"}, {"sex": "m"}]


def test_single_texts_and_rows_follow_the_same_rules():
    assert text_entry("hello", "POS", TEXT).text == "hello"
    assert text_entry(" ", "POS", TEXT).kind == "refused"
    assert text_entry("\ud800", "POS", TEXT).kind == "refused"
    assert row_entry({"age": "7", "job": "x", "label": "no"}, GROWN).row == {"age": 7, "job": "x"}
    assert "list or an object" in row_entry({"age": [1], "job": "x", "label": "no"}, GROWN).reason


@pytest.mark.parametrize("modality", ["image", "text", "tabular"])
@pytest.mark.parametrize("name", [".DS_Store", "Thumbs.db", "cats/desktop.ini", "._tom.png"])
def test_a_system_file_by_itself_is_ignored(tmp_path, modality, name):
    schema = UploadSchema(modality, ("good", "bad"))
    for content in (b"\xd0\xcf\x11\xe0 an OLE container", b""):
        (entry,) = plan(tmp_path, content, schema, name).entries
        assert (entry.kind, entry.reason) == ("ignored", "A system file of macOS or Windows, not data.")
    with pytest.raises(UploadRefused):
        plan(tmp_path, b"", schema, "tom.png")


def test_foreign_files_are_named(tmp_path):
    for data, words in ((b"\xd0\xcf\x11\xe0 x", "old Excel"), (b"", "empty"), (b"%PDF-1.7", "PDF")):
        with pytest.raises(UploadRefused, match=words):
            plan(tmp_path, data)


def test_limits_for_tables(tmp_path):
    with pytest.raises(TableRefused, match="More than 2 rows"):
        plan(tmp_path, "text,label\n" + "x,POS\n" * 3, limits=UploadLimits(rows=2))
    with pytest.raises(UploadRefused, match="limit for a table"):
        plan(tmp_path, "text,label\nx,POS\n", limits=UploadLimits(table_bytes=10))
    found = plan(tmp_path, "text,label\nxxxx,POS\nx,POS\n", limits=UploadLimits(text_chars=3))
    assert [e.kind for e in found.entries] == ["refused", "data"]


def test_content_hashes_ignore_what_keyboards_change():
    assert content_sha256_text("Vélo\r\n") == content_sha256_text("Ve\u0301lo")
    assert content_sha256_text("a") != content_sha256_text("b")
    assert content_sha256_row({"a": 1, "b": None}) == content_sha256_row({"b": None, "a": 1})
    assert content_sha256_row({"a": 1}) != content_sha256_row({"a": "1"})


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), st.sampled_from(["POS", "NEG"])),
        min_size=1, max_size=8,
    ),
    delimiter=st.sampled_from(",;\t|"),
)  # fmt: skip
def test_what_a_writer_quotes_comes_back(tmp_path_factory, rows, delimiter):
    """Any text, quoted by the csv module, is read back letter for letter or refused as empty."""
    import csv
    import io

    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([("text", "label"), *rows])
    found = plan(tmp_path_factory.mktemp("t"), out.getvalue())
    assert len(found.entries) == len(rows)
    for entry, (text, label) in zip(found.entries, rows, strict=True):
        if text.strip():
            assert (entry.text, entry.label) == (text, label)
        else:
            assert entry.kind == "refused"
