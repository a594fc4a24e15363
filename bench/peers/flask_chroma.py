"""The app that CiteMesh replaces: Flask and ChromaDB with an embedding model, behind `POST /v1/query`.

Written from its description, with the libraries that it names, and tuned as a careful owner would: cosine distance with
Chroma's own defaults for its graph, a persistent collection, the model's prefixes, documents embedded in batches of
like lengths, all cores for PyTorch, and waitress as the server, besides Flask's own. One lock around the model: two
forward passes at once on the same cores take longer than one after the other.

    POST /v1/query {"query": "…", "top_k": 10} → {"ids": […], "documents": […], "scores": […], "metadatas": […]}

`python -m bench.peers.flask_chroma MODEL_DIR CORPUS.jsonl STORE --port N`. A line of the corpus is {"id", "text",
"metadata"}. Standard output says in one JSON object that the corpus is in and how many seconds that took.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
import torch
import waitress
from chromadb.config import Settings
from flask import Flask, jsonify, request
from flask.typing import ResponseReturnValue

from bench.peers.embedding import Embedder

ADDED_AT_ONCE = 1000
LONGEST_QUERY = 32_768
MOST_RESULTS = 1000
THREADS = 8


def collection_of(store: Path) -> chromadb.Collection:
    """A persistent collection; Chroma keeps vectors, texts and metadata."""
    client = chromadb.PersistentClient(str(store), Settings(anonymized_telemetry=False))
    return client.get_or_create_collection("documents", configuration={"hnsw": {"space": "cosine"}})


def fill(collection: chromadb.Collection, embedder: Embedder, corpus: Sequence[dict[str, Any]]) -> None:
    """Takes the corpus in."""
    vectors = embedder.passages([it["text"] for it in corpus])
    for start in range(0, len(corpus), ADDED_AT_ONCE):
        some = corpus[start : start + ADDED_AT_ONCE]
        collection.add(
            ids=[it["id"] for it in some],
            embeddings=vectors[start : start + len(some)],
            documents=[it["text"] for it in some],
            metadatas=[it["metadata"] for it in some],
        )


def app_of(collection: chromadb.Collection, embedder: Embedder) -> Flask:
    """The app: one route to ask, one that says it is there."""
    app = Flask(__name__)

    @app.get("/healthz")
    def health() -> ResponseReturnValue:
        return jsonify(status="ok")

    @app.post("/v1/query")
    def query() -> ResponseReturnValue:
        asked = request.get_json(silent=True)
        if not isinstance(asked, dict) or not isinstance(text := asked.get("query"), str) or not text.strip():
            return jsonify(error="query: a text is needed"), 400
        top_k = asked.get("top_k", 10)
        if not isinstance(top_k, int) or not 1 <= top_k <= MOST_RESULTS or len(text) > LONGEST_QUERY:
            return jsonify(error=f"top_k is 1 to {MOST_RESULTS}, query up to {LONGEST_QUERY} characters"), 400
        found = collection.query(
            query_embeddings=embedder.query(text),
            n_results=top_k,
            include=["documents", "metadatas", "distances"],
        )
        return jsonify(
            ids=found["ids"][0],
            documents=(found["documents"] or [[]])[0],
            scores=[1 - distance for distance in (found["distances"] or [[]])[0]],
            metadatas=(found["metadatas"] or [[]])[0],
        )

    return app


def main() -> int:
    """Takes the corpus in and serves until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--server", choices=("waitress", "flask"), default="waitress")
    parser.add_argument("--threads", type=int, default=THREADS, help="of waitress (%(default)s)")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="bfloat16")
    given = parser.parse_args()
    corpus = [json.loads(line) for line in given.corpus.read_text(encoding="utf-8").splitlines()]
    embedder = Embedder(given.model, getattr(torch, given.precision))
    embedder.query("warm up")
    started = time.perf_counter()
    collection = collection_of(given.store)
    fill(collection, embedder, corpus)
    seconds = time.perf_counter() - started
    app = app_of(collection, embedder)
    print(json.dumps({"ready": True, "documents": collection.count(), "seconds": seconds}), flush=True)
    if given.server == "flask":
        app.run("127.0.0.1", given.port, threaded=True)
    else:
        waitress.serve(app, host="127.0.0.1", port=given.port, threads=given.threads, _quiet=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
