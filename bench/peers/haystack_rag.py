"""A plain answer pipeline of Haystack in one process: embed, retrieve, build a prompt, write.

As Haystack's own guides put one together: documents in its in-memory store, an embedding retriever, a prompt builder, a
chat generator that streams. The models are the ones that CiteMesh uses: the embedder is a thin component around
transformers, and the generator one around vLLM's engine, in this process and called step by step, so that no process
or network stands between pipeline and model. Paragraphs go in whole with their titles. The prompt asks for markers.

    POST /ask {"question": "…"} → lines of JSON: {"text": "…"} as it is written, then {"documents": […], "sources": […],
    "tokens": …, "prompt_tokens": …, "read_s": …}: ids of all that were retrieved, best first, of those in the prompt,
    number 1 first, tokens written and read, and seconds from the prompt to the model's first token

`python -m bench.peers.haystack_rag EMBEDDING_DIR MODEL_DIR CORPUS.jsonl --port N`. A line of the corpus is {"id",
"text", "metadata"}. Threads of math libraries are set by OMP_NUM_THREADS before it starts: Haystack loads them on
import. Standard output says in one JSON object that the corpus is in and how many seconds that took.
"""

import argparse
import asyncio
import json
import logging
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False"}

from aiohttp import web  # what stands above is read on import
from haystack import Document, Pipeline, component
from haystack.components.builders import ChatPromptBuilder
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.dataclasses import ChatMessage, StreamingChunk
from haystack.document_stores.in_memory import InMemoryDocumentStore

from services.generation.engines import vllm_environment

log = logging.getLogger(__name__)
RETRIEVED = 10
SYSTEM = (
    "You answer questions from these sources:\n\n"
    "{% for one in documents[:most] %}[{{ loop.index }}] {{ one.content }}\n\n{% endfor %}"
)
USER = (
    "{{ question }}\nAnswer in one or two sentences, with the words of the sources. Behind each sentence, write the "
    "number of its source in square brackets, such as [2]."
)
Callback = Callable[[StreamingChunk], None]


@component
class QueryEmbedder:
    """A question's vector."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """One embedding, of length one."""
        return {"embedding": self._embedder.query(text)[0].tolist()}


@component
class VllmChat:
    """vLLM's engine as a chat generator, driven step by step in the pipeline's thread."""

    def __init__(self, directory: Path, max_tokens: int, repetition_penalty: float) -> None:
        from transformers import AutoTokenizer
        from vllm import EngineArgs, SamplingParams
        from vllm.sampling_params import RequestOutputKind
        from vllm.v1.engine.llm_engine import LLMEngine

        self._tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
        self._sampling = SamplingParams(
            temperature=0.0,
            max_tokens=max_tokens,
            repetition_penalty=repetition_penalty,
            output_kind=RequestOutputKind.DELTA,
        )
        arguments = EngineArgs(
            model=str(directory),
            max_model_len=8192,
            enforce_eager=True,
            enable_prefix_caching=True,
            disable_log_stats=True,
            kv_cache_memory_bytes=1 << 30,
        )
        self._engine = LLMEngine.from_engine_args(arguments)

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], streaming_callback: Callback | None = None) -> dict[str, Any]:
        """Writes; each part goes to the callback at once."""
        turns = [{"role": message.role.value, "content": message.text} for message in messages]
        prompt = self._tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        ids = self._tokenizer(prompt, add_special_tokens=False)["input_ids"]
        started, read_s = time.perf_counter(), 0.0
        self._engine.add_request(uuid.uuid4().hex, {"prompt_token_ids": ids}, self._sampling)
        parts, tokens = [], 0
        while self._engine.has_unfinished_requests():
            for output in self._engine.step():
                read_s = read_s or time.perf_counter() - started
                parts.append(output.outputs[0].text)
                tokens += len(output.outputs[0].token_ids)
                if streaming_callback and parts[-1]:
                    streaming_callback(StreamingChunk(content=parts[-1]))
        meta = {"tokens": tokens, "prompt_tokens": len(ids), "read_s": read_s}
        return {"replies": [ChatMessage.from_assistant("".join(parts), meta=meta)]}


def pipeline_of(store: InMemoryDocumentStore, embedder: Any, chat: VllmChat) -> Pipeline:
    """The pipeline."""
    template = [ChatMessage.from_system(SYSTEM), ChatMessage.from_user(USER)]
    pipeline = Pipeline()
    pipeline.add_component("embedder", QueryEmbedder(embedder))
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=RETRIEVED))
    pipeline.add_component("prompt", ChatPromptBuilder(template, required_variables=["documents", "question", "most"]))
    pipeline.add_component("chat", chat)
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "chat.messages")
    return pipeline


def filled(embedder: Any, corpus: list[dict[str, Any]]) -> InMemoryDocumentStore:
    """The store with the corpus in it."""
    vectors = embedder.passages([it["text"] for it in corpus])
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(
        [
            Document(id=it["id"], content=it["text"], meta=it["metadata"], embedding=vector.tolist())
            for it, vector in zip(corpus, vectors, strict=True)
        ]
    )
    return store


def asked(pipeline: Pipeline, question: str, most: int, say: Callable[[dict[str, Any]], None]) -> None:
    """Runs the pipeline once and says what comes of it."""
    ids: list[str] = []
    told = {"tokens": 0, "prompt_tokens": 0, "read_s": 0.0}
    try:
        found = pipeline.run(
            {
                "embedder": {"text": question},
                "prompt": {"question": question, "most": most},
                "chat": {"streaming_callback": lambda chunk: say({"text": chunk.content})},
            },
            include_outputs_from={"retriever"},
        )
        ids = [document.id for document in found["retriever"]["documents"]]
        told |= found["chat"]["replies"][0].meta
    finally:
        say({"documents": ids, "sources": ids[:most], **told})


def app_of(pipeline: Pipeline, most: int) -> web.Application:
    """The server: one question at a time, as one process with one model has it."""
    turn = asyncio.Lock()

    async def ask(request: web.Request) -> web.StreamResponse:
        question, loop = (await request.json())["question"], asyncio.get_running_loop()
        lines: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        response = web.StreamResponse()
        await response.prepare(request)

        def say(line: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(lines.put_nowait, line)

        async with turn:
            work = asyncio.create_task(asyncio.to_thread(asked, pipeline, question, most, say))
            line: dict[str, Any] = {}
            while "documents" not in line:
                line = await lines.get()
                await response.write(json.dumps(line).encode() + b"\n")
            if error := (await asyncio.gather(work, return_exceptions=True))[0]:
                log.error("the pipeline broke off: %s", error)
        return response

    async def health(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    app = web.Application()
    app.add_routes([web.post("/ask", ask), web.get("/healthz", health)])
    return app


def main() -> None:
    """Takes the corpus in and serves until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("embedding", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--sources", type=int, default=3, help="documents in the prompt (%(default)s)")
    parser.add_argument("--max-tokens", type=int, default=192, help="of an answer (%(default)s)")
    parser.add_argument("--repetition-penalty", type=float, default=1.0)
    parser.add_argument("--threads", type=int, required=True, help="of both models: they never work at once")
    given = parser.parse_args()
    vllm_environment.prepare(given.threads)
    import torch

    from bench.peers.embedding import Embedder

    corpus = [json.loads(line) for line in given.corpus.read_text(encoding="utf-8").splitlines()]
    chat = VllmChat(given.model, given.max_tokens, given.repetition_penalty)
    embedder = Embedder(given.embedding, torch.bfloat16)
    torch.set_num_threads(given.threads)
    embedder.query("warm up")
    started = time.perf_counter()
    store = filled(embedder, corpus)
    print(json.dumps({"ready": True, "documents": len(corpus), "seconds": time.perf_counter() - started}), flush=True)
    web.run_app(
        app_of(pipeline_of(store, embedder, chat), given.sources), host="127.0.0.1", port=given.port, print=None
    )


if __name__ == "__main__":
    main()
