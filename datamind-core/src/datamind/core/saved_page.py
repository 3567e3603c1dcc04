"""A saved answer as a file: JSON, or one page of HTML that opens offline and holds the same JSON."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final, NamedTuple

from pydantic import ValidationError

from datamind.core.errors import InputInvalid
from datamind.core.evidence import Evidence, TableLocator
from datamind.core.notebook import escaped, footnoted, receipts_html, span_of, status_of, table_html
from datamind.core.verification import SavedAnswer, Surroundings

MAX_BYTES: Final = 64 * 1024 * 1024
_DATA_ID: Final = "datamind-answer"
_WHOLE: Final = 1_000_000
_STYLE: Final = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.25rem}h2{font-size:1rem;margin-top:2rem}
.answer,blockquote,pre{white-space:pre-wrap;overflow-wrap:anywhere}
blockquote{margin:.5rem 0;padding:.25rem 1rem;border-left:3px solid #8888}
.around{opacity:.6}mark{background:#ffe27a;color:#000}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid #8886;padding:.15rem .5rem;text-align:left}
small,.where{opacity:.75}
"""
# Nothing is fetched and nothing runs, whatever the answer holds.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def to_json(saved: SavedAnswer) -> str:
    """The answer as JSON, with a line end."""
    return saved.model_dump_json(indent=1) + "\n"


def to_html(saved: SavedAnswer) -> str:
    """The answer as one page: text, evidence with the cited span marked, statements with their rows, receipts.

    Equal answers make equal pages.
    """
    result = saved.result
    cited = sorted({citation.number for citation in result.citations if citation.number <= len(result.evidence)})
    evidence = "".join(_evidence(saved, number, result.evidence[number - 1]) for number in cited)
    data = saved.model_dump_json().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    parts = [
        f"<h1>{escaped(saved.question, _WHOLE)}</h1>",
        f'<p class="answer">{footnoted(result)}</p>',
        f"<p><small>{escaped(status_of(result))}</small></p>",
        f"<h2>Evidence</h2>{evidence}" if evidence else "",
        f"<h2>Receipts</h2>{receipts_html(saved.receipts)}" if saved.receipts else "",
        f"<p><small>{escaped(_told_by(saved))}</small></p>",
        f'<script type="application/json" id="{_DATA_ID}">{data}</script>',
    ]
    head = (
        '<!doctype html>\n<html><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escaped(saved.question)}</title><style>{_STYLE}</style></head>\n<body>\n"
    )
    return head + "\n".join(part for part in parts if part) + "\n</body></html>\n"


def _told_by(saved: SavedAnswer) -> str:
    when = saved.answered_at.strftime("%Y-%m-%d %H:%M UTC")
    return f"Answered on {when} by profile {saved.profile}, {saved.result.trace_id}. Check it with `datamind verify`."


def _evidence(saved: SavedAnswer, number: int, item: Evidence) -> str:
    where = escaped(f"{item.surface} · {item.source.uri} · {span_of(item)}", _WHOLE)
    receipts = ", ".join(item.receipt_ids) or "no receipt"
    title = f'<h3 id="e{number}">[{number}] <span class="where">{where}</span></h3>'
    return f"{title}{_content(saved, item)}<p><small>rests on {escaped(receipts, _WHOLE)}</small></p>\n"


def _content(saved: SavedAnswer, item: Evidence) -> str:
    locator = item.locator
    if locator.type == "triple":
        rows = [locator.names or (locator.subject, locator.predicate, locator.object)]
        return table_html(("subject", "relation", "object"), rows)
    if isinstance(locator, TableLocator) and (table := item.table()) is not None:
        return f"<pre>{escaped(locator.statement, _WHOLE)}</pre>{table_html(table.columns, table.rows)}"
    around = saved.surroundings.get(item.evidence_id, Surroundings())
    marked = _marked(item.content, [one.claim for one in saved.result.citations if one.evidence_id == item.evidence_id])
    before, after = (escaped(text, _WHOLE) for text in (around.before, around.after))
    return f'<blockquote><span class="around">{before}</span>{marked}<span class="around">{after}</span></blockquote>'


def _marked(content: str, claims: list[str]) -> str:
    """The words of the claims marked where they stand in the evidence; else all of it."""
    found = sorted({span for claim in claims for span in _spans(content, claim)})
    spans = found or [(0, len(content))]
    out, end = "", 0
    for start, stop in spans:
        if start >= end:
            out += f"{escaped(content[end:start], _WHOLE)}<mark>{escaped(content[start:stop], _WHOLE)}</mark>"
            end = stop
    return out + escaped(content[end:], _WHOLE)


def _spans(content: str, claim: str) -> list[tuple[int, int]]:
    words = re.split(r"\s+", claim.strip(" \t\n\"“”'.。!！…"))
    pattern = r"\s+".join(map(re.escape, words))
    return [match.span() for match in re.finditer(pattern, content, re.IGNORECASE)] if words != [""] else []


class SavedFile(NamedTuple):
    """What a file holds.

    Attributes:
        problems: What is wrong with the file beside its data.
    """

    saved: SavedAnswer
    problems: tuple[str, ...] = ()


def read_saved(content: bytes, name: str) -> SavedFile:
    """What ``to_json`` or ``to_html`` wrote.

    Args:
        content: The file's bytes.
        name: What the file is called, for messages.

    Raises:
        InputInvalid: It is no saved answer.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise _no_answer(name) from None
    if text.lstrip()[:1] != "<":
        return SavedFile(_parsed(text, name))
    reader = _DataReader()
    reader.feed(text)
    saved = _parsed("".join(reader.data), name)
    is_as_drawn = to_html(saved) == text
    return SavedFile(saved, () if is_as_drawn else ("the page shows something else than the data in it",))


def _parsed(text: str, name: str) -> SavedAnswer:
    try:
        return SavedAnswer.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the beginning"
        raise _no_answer(name, f" (at {where}: {first['msg']})") from None


def _no_answer(name: str, why: str = "") -> InputInvalid:
    return InputInvalid(
        f"{name[:200]!r} is no saved answer{why};",
        code="input_invalid.no_saved_answer",
        hint="`datamind ask --save answer.html` makes one.",
    )


class _DataReader(HTMLParser):
    """Takes the data out of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.data: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "script" and ("id", _DATA_ID) in attrs

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.data.append(data)
