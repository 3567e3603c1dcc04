"""Ranking quality and speed of the text functions, beside bm25s on the same tokens.

Quality needs ``DATAMIND_BENCH_DATA``: a folder with ``retrieval-xquad`` and ``retrieval-cmrc2018`` in the SQuAD
layout. Relevant to a question is its own paragraph; for chunks, those that hold the first answer whole.
"""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from measure import Row, medians_s

from datamind.capabilities.text.bm25 import BM25Index
from datamind.capabilities.text.chunking import chunk_text
from datamind.capabilities.text.fusion import reciprocal_rank_fusion
from datamind.capabilities.text.tokens import tokenize, tokenize_for_index

SETS = {
    "xquad en": "retrieval-xquad/xquad.en.json",
    "xquad zh": "retrieval-xquad/xquad.zh.json",
    "cmrc2018 dev": "retrieval-cmrc2018/squad-style-data/cmrc2018_dev.json",
}
DEPTH = 10
SPEED_DOCUMENTS = 10_000


class Question(NamedTuple):
    text: str
    relevant: frozenset[str]


class Corpus(NamedTuple):
    documents: dict[str, str]
    questions: list[Question]


def read_paragraphs(path: Path) -> Corpus:
    documents: dict[str, str] = {}
    asked: list[tuple[str, str]] = []
    ids: dict[str, list[str]] = {}
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            document_id = f"p{len(documents):05}"
            documents[document_id] = paragraph["context"]
            ids.setdefault(paragraph["context"], []).append(document_id)
            asked += [(entry["question"], paragraph["context"]) for entry in paragraph["qas"]]
    return Corpus(documents, [Question(text, frozenset(ids[context])) for text, context in asked])


def read_chunks(path: Path, chunk_size: int) -> Corpus:
    """Articles joined into one text each, then cut; an answer is found in the chunk that holds all of it."""
    documents: dict[str, str] = {}
    questions: list[Question] = []
    for number, article in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"]):
        text = "\n\n".join(paragraph["context"] for paragraph in article["paragraphs"])
        chunks = chunk_text(text, chunk_size=chunk_size, chunk_overlap=chunk_size // 8)
        documents |= {f"a{number:03}-{chunk.index:04}": text[chunk.start : chunk.end] for chunk in chunks}
        offset = 0
        for paragraph in article["paragraphs"]:
            for entry in paragraph["qas"]:
                start = offset + entry["answers"][0]["answer_start"]
                end = start + len(entry["answers"][0]["text"])
                holding = [c for c in chunks if c.start <= start and end <= c.end]
                questions.append(Question(entry["question"], frozenset(f"a{number:03}-{c.index:04}" for c in holding)))
            offset += len(paragraph["context"]) + 2
    return Corpus(documents, questions)


def quality(corpus: Corpus, search: Callable[[str], Sequence[str]]) -> str:
    gains = recalls_5 = recalls_10 = 0.0
    for question in corpus.questions:
        hits = list(search(question.text))[:DEPTH]
        gain = sum(1 / math.log2(rank + 2) for rank, hit in enumerate(hits) if hit in question.relevant)
        ideal = sum(1 / math.log2(rank + 2) for rank in range(min(len(question.relevant), DEPTH)))
        gains += gain / ideal if ideal else 0.0
        recalls_5 += any(hit in question.relevant for hit in hits[:5])
        recalls_10 += any(hit in question.relevant for hit in hits)
    total = len(corpus.questions)
    return f"nDCG@10 {gains / total:.3f}  R@5 {recalls_5 / total:.3f}  R@10 {recalls_10 / total:.3f}"


def build(documents: dict[str, str]) -> BM25Index:
    index = BM25Index()
    for document_id, text in documents.items():
        index.add(document_id, tokenize_for_index(text))
    return index


def searcher(index: BM25Index, limit: int = DEPTH) -> Callable[[str], list[str]]:
    return lambda text: [document_id for document_id, _ in index.search(tokenize(text), limit)]


def peer_searcher(documents: dict[str, str]) -> Callable[[str], list[str]]:
    import bm25s

    peer = bm25s.BM25(k1=1.2, b=0.75)
    ids = list(documents)
    peer.index([tokenize_for_index(text) for text in documents.values()], show_progress=False)

    def search(text: str) -> list[str]:
        tokens = [token for token in tokenize(text) if token in peer.vocab_dict]
        if not tokens:
            return []
        found, scores = peer.retrieve([tokens], k=min(DEPTH, len(ids)), show_progress=False)
        return [ids[i] for i, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


def half_embedded(corpus: Corpus, vector: Callable[[str], Sequence[str]]) -> Callable[[str], list[str]]:
    """Fusion while a random half has no vector; ``vector`` ranks as if all had one."""
    fresh = {document_id for document_id in corpus.documents if random.Random(document_id).random() < 0.5}
    lexical = searcher(build(corpus.documents), 50)

    def search(text: str) -> list[str]:
        ranked = [hit for hit in vector(text) if hit not in fresh]
        return [hit for hit, _ in reciprocal_rank_fusion([lexical(text), ranked], unembedded=fresh)]

    return search


def trigram_searcher(documents: dict[str, str]) -> Callable[[str], list[str]]:
    """Stands in for an embedder: another, weaker view of the same text."""
    index = BM25Index()
    for document_id, text in documents.items():
        index.add(document_id, _trigrams(text))
    return lambda text: [document_id for document_id, _ in index.search(_trigrams(text), 50)]


def _trigrams(text: str) -> list[str]:
    return [text[i : i + 3] for i in range(len(text) - 2)]


def percentiles(times_s: Iterable[float]) -> str:
    ordered = sorted(times_s)
    return f"p50 {statistics.median(ordered) * 1e3:.2f} ms  p95 {ordered[int(len(ordered) * 0.95)] * 1e3:.2f} ms"


def timed(search: Callable[[str], object], queries: Iterable[str]) -> str:
    times: list[float] = []
    for query in queries:
        started = time.perf_counter()
        search(query)
        times.append(time.perf_counter() - started)
    return percentiles(times)


def generated_corpus(language: str) -> tuple[dict[str, str], list[str]]:
    """Documents of about 300 (en) or 150 (zh) characters whose words follow Zipf's law, and queries from them."""
    rng = random.Random(7)
    if language == "zh":
        words = ["".join(chr(rng.randrange(0x4E00, 0x6000)) for _ in range(2)) for _ in range(20_000)]
        size, joiner = 75, ""
    else:
        words = ["".join(rng.choices("abcdeghilmnoprstu", k=rng.randrange(3, 10))) for _ in range(20_000)]
        size, joiner = 45, " "
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    texts = [rng.choices(words, weights, k=size) for _ in range(SPEED_DOCUMENTS)]
    documents = {f"d{i:05}": joiner.join(text) + "." for i, text in enumerate(texts)}
    return documents, [joiner.join(rng.sample(text, 6)) for text in texts[:300]]


def speed(language: str) -> Iterator[Row | str]:
    documents, queries = generated_corpus(language)
    started = time.process_time()
    tokens = [tokenize_for_index(text) for text in documents.values()]
    yield f"{language}: tokens of {len(documents)} in {time.process_time() - started:.2f} s of CPU, none cached"
    started = time.process_time()
    index = BM25Index()
    for document_id, document_tokens in zip(documents, tokens, strict=True):
        index.add(document_id, document_tokens)
    yield f"{language}: index of {len(documents)} in {time.process_time() - started:.2f} s of CPU"
    yield f"{language}: query at {len(documents)}  {timed(searcher(index), queries)}"
    yield f"{language}: bm25s             {timed(peer_searcher(documents), queries)}"
    yield change_speed(language, index, tokens, queries[0])


def change_speed(language: str, index: BM25Index, tokens: list[list[str]], query: str) -> Row:
    """bm25s cannot add: what a change costs it is the whole index."""
    import bm25s

    def change() -> None:
        index.add("changed", tokens[0])
        index.search(tokenize(query), DEPTH)

    def rebuild() -> None:
        peer = bm25s.BM25(k1=1.2, b=0.75)
        peer.index(tokens, show_progress=False)
        peer.retrieve([tokenize(query)], k=DEPTH, show_progress=False)

    ours_s, peer_s = medians_s([change, rebuild])
    return Row(f"{language}: add, then query", ours_s, "bm25s, rebuilt", peer_s, max_ratio=0.1)


def chunk_speed() -> Iterator[str]:
    prose = "The quick brown fox jumps over the lazy dog. It ran, e.g. to the wood; nobody knows why. "
    chinese = "这是一个测试句子，用来检查速度。第二句话在这里！"
    samples = {"en": prose, "zh": chinese, "no blank": "a", "no blank zh": "中", "short lines": "x\n", "stops": ". "}
    for name, unit in samples.items():
        text = unit * (1_000_000 // len(unit))
        for media_type in ("text/plain", "text/markdown"):
            started = time.process_time()
            count = len(chunk_text(text, media_type=media_type))
            taken_s = time.process_time() - started
            yield f"chunks of 1 M characters, {name}, {media_type}: {count} in {taken_s:.2f} s of CPU"


def measure_quality(folder: Path) -> Iterator[str]:
    for name, relative in SETS.items():
        corpus = read_paragraphs(folder / relative)
        vector = trigram_searcher(corpus.documents)
        search = searcher(build(corpus.documents))
        yield f"{name}: {len(corpus.documents)} paragraphs, {len(corpus.questions)} questions"
        yield f"  BM25                      {quality(corpus, search)}"
        yield f"  bm25s, same tokens        {quality(corpus, peer_searcher(corpus.documents))}"
        yield f"  fused, half un-embedded   {quality(corpus, half_embedded(corpus, vector))}"
        yield f"  query  {timed(search, [question.text for question in corpus.questions])}"
        for chunk_size in (256, 512, 1024):
            chunked = read_chunks(folder / relative, chunk_size)
            figures = quality(chunked, searcher(build(chunked.documents)))
            torn = sum(not question.relevant for question in chunked.questions)
            yield f"  {len(chunked.documents):5} chunks of {chunk_size:4}      {figures}  answers torn {torn}"


def rows() -> Iterator[Row | str]:
    if folder := os.environ.get("DATAMIND_BENCH_DATA"):
        yield from measure_quality(Path(folder))
    for language in ("en", "zh"):
        yield from speed(language)
    yield from chunk_speed()
