"""The embedding model that the settings name, and how much it works on at once."""

from citemesh.cpu import usable_cores
from services.retrieval.embedding.encoder import Encoder
from services.retrieval.embedding.queue import EmbeddingLimits
from services.retrieval.settings import RetrievalSettings


def encoder_of(settings: RetrievalSettings) -> Encoder:
    """The embedding model that the settings name, loaded. Takes seconds; a first time up to a minute."""
    if settings.embedding_engine == "fake":
        from services.retrieval.embedding.fake import FakeEncoder

        return FakeEncoder()
    if settings.embedding_engine == "openai":
        return _endpoint(settings)
    from citemesh.models import prepare

    model = prepare(settings.embedding_model, settings.models_dir.expanduser())
    if settings.embedding_engine == "onnx":
        from services.retrieval.embedding.onnx_encoder import OnnxEncoder

        return OnnxEncoder(model, settings.threads)
    from services.retrieval.embedding.torch_encoder import TorchEncoder

    return TorchEncoder(model, settings.device, settings.embedding_precision, settings.threads)


def limits_of(settings: RetrievalSettings) -> EmbeddingLimits:
    """How much is embedded at once. On a CPU every core embeds passages, which give way to other work."""
    workers = settings.embedding_workers or (usable_cores() if settings.device == "cpu" else 1)
    return EmbeddingLimits(
        batch_tokens=settings.batch_tokens,
        workers=workers,
        cached_queries=settings.cached_queries,
        token_vectors=settings.token_vectors,
        unreadable_share=settings.unreadable_share,
    )


def _endpoint(settings: RetrievalSettings) -> Encoder:
    from services.retrieval.embedding.endpoint import EndpointAddress
    from services.retrieval.embedding.openai_encoder import Counter, OpenAiEncoder, Prefixes

    counter: Counter | None = None
    if settings.embedding_tokenizer:
        from citemesh.models import prepare
        from services.retrieval.embedding.model_tokens import ModelTokens

        counter = ModelTokens(prepare(settings.embedding_tokenizer, settings.models_dir.expanduser()))
    path = settings.embedding_key_file
    key = path.read_text(encoding="utf-8").strip() if path else ""
    address = EndpointAddress(
        settings.embedding_url,
        settings.embedding_model,
        settings.embedding_dimension,
        key,
        settings.embedding_timeout_s,
    )
    return OpenAiEncoder(address, Prefixes(settings.embedding_query_prefix, settings.embedding_passage_prefix), counter)
