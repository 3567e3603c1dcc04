"""Encodings are found or refused, never guessed; titles, media types and bounds."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamind.capabilities.ingest import decoding
from datamind.capabilities.ingest.decoding import decode_text
from datamind.capabilities.ingest.loaders import TextLoader, first_heading, guess_media_type
from datamind.core.errors import LimitExceeded, SourceUnreadable
from datamind.core.protocols.ingest import LoadLimits

CHINESE = (
    "服务器在夜间重启。管理员需要检查日志。",
    "姓名,部门,订单号\n张三,销售,42\n李四,研发,7\n",
    "本季度的销售额比去年增长了百分之十二，但是利润没有变化。",
    "编号 A-12 的设备：温度 21.5℃，状态“正常”。",
    "价格 € 5",
    "网关",
)
LATIN = (
    "Größe und Übermaß, die Straße führt über die Brücke.",
    "Grüße",
    "Die Müllabfuhr kommt Dienstag – „pünktlich“.",
    "GRÖSSE ÄNDERN: ÖFFNEN",
    "Le café est fermé à midi ; l’été arrive.",
    "créée",
    "Ça coûte 5 € – c’est «peu».",
    "¿Dónde está el baño? ¡Qué día!",
    "As ações não são más.",
    "Tänään päätöksiä tehtiin",
    "25 °C ± 2, ½ of 5 m², £5, “quoted” — yes…",
)
FOREIGN = {
    "euc-kr": ("서버는 밤에 다시 시작됩니다. 관리자는 로그를 확인해야 합니다.", "서버 재시작"),
    "shift_jis": ("サーバーは夜間に再起動します。管理者はログを確認してください。", "週報は中国語で書く"),
    "euc-jp": ("サーバーは夜間に再起動します。管理者はログを確認してください。", "週報は中国語で書く"),
    "big5": ("伺服器在夜間重新啟動。管理員需要檢查日誌。", "伺服器"),
    "cp1251": ("Сервер перезапускается ночью. Администратор проверяет журнал.", "привет", "ПРИВЕТ МИР"),
    "koi8-r": ("Сервер перезапускается ночью. Администратор проверяет журнал.", "привет"),
    "cp1253": ("Ο διακομιστής επανεκκινείται τη νύχτα.",),
    "cp1250": ("Zażółć gęślą jaźń. Serwer był ponownie uruchomiony.", "Příliš žluťoučký kůň úpěl ďábelské ódy"),
    "cp1256": ("الخادم يعيد التشغيل ليلا",),
    "cp1255": ("השרת מופעל מחדש בלילה",),
    "cp437": ("Größe und Übermaß",),
    "mac_roman": ("Größe und Übermaß, café",),
    "cp500": ("hello world",),
}


@pytest.mark.parametrize("text", CHINESE)
def test_a29_gb18030_is_read_as_what_it_is(text):
    for encoding in ("gbk", "gb18030") if "€" not in text else ("gb18030",):
        assert decode_text(text.encode(encoding)) == (text, "gb18030")


@pytest.mark.parametrize("text", LATIN)
def test_b30_western_text_is_read_as_cp1252(text):
    assert decode_text(text.encode("cp1252")) == (text, "cp1252")


@pytest.mark.parametrize(("encoding", "text"), [(name, text) for name, texts in FOREIGN.items() for text in texts])
def test_an_encoding_that_is_not_known_is_refused_and_never_mangled(encoding, text):
    with pytest.raises(SourceUnreadable) as caught:
        decode_text(text.encode(encoding))
    assert caught.value.code in ("source_unreadable.encoding", "source_unreadable.binary")


@pytest.mark.parametrize("text", ["鑫", "äöüß"])
def test_too_little_to_decide_is_refused(text):
    with pytest.raises(SourceUnreadable, match="neither"):
        decode_text(text.encode("gbk" if text == "鑫" else "cp1252"))


@pytest.mark.parametrize(
    ("mark", "codec", "name"),
    [
        (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32"),
        (b"", "utf-8", "utf-8"),
    ],
)
def test_a29_a_mark_decides_and_is_no_part_of_the_text(mark, codec, name):
    text = "id;name\r\n1;Ærø 网关 😀\n"
    assert decode_text(mark + text.encode(codec)) == (text, name)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (codecs.BOM_UTF8 + b"good, then \xff", "encoding"),
        (codecs.BOM_UTF16_LE + b"a\0b", "encoding"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8\x61\x00", "encoding"),
        (codecs.BOM_UTF16_LE + b"a\0\0\0", "binary"),
        ("no mark".encode("utf-16-le"), "binary"),
        (b"text\0more", "binary"),
        (b"\x7fELF\x02\x01\x01\x00", "binary"),
        (bytes(range(1, 32)) * 8, "binary"),
        (bytes(range(1, 256)) * 8, "encoding"),
    ],
)
def test_what_is_not_text_is_refused_with_what_was_found(content, code):
    with pytest.raises(SourceUnreadable) as caught:
        decode_text(content)
    assert caught.value.code == f"source_unreadable.{code}"
    assert len(str(caught.value)) < 200


def test_the_plausibility_of_a_long_file_is_judged_where_its_other_letters_are():
    text = "plain " * 40_000 + "服务器在夜间重启。管理员需要检查日志。"
    assert decode_text(text.encode("gbk")) == (text, "gb18030")


def test_a_character_may_lie_across_two_slices(monkeypatch):
    monkeypatch.setattr(decoding, "_SLICE_BYTES", 3)
    for encoding, name in (("utf-8", "utf-8"), ("gb18030", "gb18030"), ("utf-16", "utf-16")):
        assert decode_text(CHINESE[0].encode(encoding)) == (CHINESE[0], name)


@settings(max_examples=300)
@given(st.binary(max_size=60) | st.text(max_size=30).map(lambda text: text.encode("gb18030", "ignore")))
def test_whatever_comes_is_text_that_can_be_stored_or_an_error_of_ours(content):
    try:
        text, encoding = decode_text(content)
    except SourceUnreadable:
        return
    assert text.encode("utf-8").decode("utf-8") == text
    assert "\0" not in text
    assert text.encode(encoding).endswith(text.encode(encoding.replace("utf-16", "utf-16-le")[:9])[-2:])


@settings(max_examples=200)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=50))
def test_utf_8_comes_back_to_the_byte(text):
    content = text.encode("utf-8")
    if not text.startswith("\ufeff"):
        assert decode_text(content).text.encode("utf-8") == content


async def load(content: bytes, media_type: str = "text/markdown", **limits):
    bounds = LoadLimits(**{"max_bytes": 1_000_000, **limits})
    return await TextLoader().load(content, media_type=media_type, limits=bounds)


async def test_newlines_stay_as_they_are_so_that_spans_are_of_the_file():
    content = b"# One\r\n\r\ntwo\rthree\n\x0cfour\xe2\x80\xa8five"
    document = await load(content)
    assert document.text.encode() == content
    assert (document.title, document.encoding, document.pages) == ("One", "utf-8", ())


async def test_limits_name_the_value_and_the_bound():
    with pytest.raises(LimitExceeded, match=r"11 bytes are more than the limit of 10"):
        await load(b"0123456789a", max_bytes=10)
    with pytest.raises(LimitExceeded, match=r"11 characters are more than the limit of 10"):
        await load(b"0123456789a", max_characters=10)


async def test_another_format_is_named():
    with pytest.raises(SourceUnreadable, match="application/pdf, not text/plain"):
        await load(b"%PDF-1.7 all of it is ascii", "text/plain")


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("# Title", "Title"),
        ("\n\n## Second level ##\n", "Second level"),
        ("text\n\n# Later\n", "Later"),
        ("Title\n=====\ntext", "Title"),
        ("Title\r\n-----\r\n", "Title"),
        ("---\ntitle: front matter\n---\n# After\n", "After"),
        ("---\n# not closed\n", "not closed"),
        ("```\n# code\n```\n# Real\n", "Real"),
        ("~~~\n```\n# code\n~~~\n# Real\n", "Real"),
        ("#hashtag\n#\n", ""),
        ("- item\n- - -\n", ""),
        ("    # code\n", ""),
        ("a paragraph\n\n---\n", ""),
        ("# 网关 #\n", "网关"),
        ("", ""),
        ("# " + "x" * 500, "x" * 200),
    ],
)
def test_the_title_is_the_first_heading(markdown, title):
    assert first_heading(markdown) == title


async def test_plain_text_has_no_title():
    assert (await load(b"# no heading here", "text/plain")).title == ""


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.md", b"# x", "text/markdown"),
        ("A.TXT", b"x", "text/plain"),
        ("notes", b"plain words", "text/plain"),
        ("notes", CHINESE[0].encode("gbk")[:-1], "text/plain"),
        ("notes", "网".encode()[:2], "text/plain"),
        ("notes", b"", "text/plain"),
        ("code.py", b"import x", "text/plain"),
        ("blob", b"\0\1\2\3", "application/octet-stream"),
        ("report.txt", b"%PDF-1.7", "application/pdf"),
        ("report.pdf", b"no signature", "application/pdf"),
        ("book.epub", b"PK\x03\x04", "application/epub+zip"),
        ("x.docx", b"PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("archive", b"PK\x03\x04", "application/zip"),
        ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/vnd.ms-excel"),
        ("t.csv", b"a;b", "text/csv"),
        ("t.jsonl", b"{}", "application/x-ndjson"),
        ("g.ttl", b"@prefix", "text/turtle"),
        ("photo.md", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("page.html", b"<html>", "text/html"),
    ],
)
def test_a_media_type_follows_from_name_and_first_bytes(name, head, expected):
    assert guess_media_type(name, head) == expected
