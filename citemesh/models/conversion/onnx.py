"""A prepared model as an ONNX file: exported once a machine, compared with PyTorch before anybody uses it.

PyTorch's older exporter gave wrong vectors for the same models without a word (cosine .22), so nothing is believed: an
export whose outputs aren't the model's own is refused.
"""

import logging
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from citemesh.errors import PreconditionFailed, Unavailable
from citemesh.models.conversion.quiet import quiet_transformers
from citemesh.models.prepared import PreparedModel

Output = Literal["states", "logits"]
REVISION = 1
LOCK_LIMIT_S = 900.0
_FILE, _SOURCE = "model.onnx", "source.txt"
_CLOSEST = 1e-3
"""Most that an output may differ from the model's own, relative to the largest: float32 rounding is below 1e-4."""


def exported(model: PreparedModel, output: Output) -> Path:
    """The ONNX file of a model, made beside its directory if it isn't there yet; takes up to a minute then.

    Inputs are input_ids, attention_mask and, for models that tell two texts apart, token_type_ids: int64 [texts,
    tokens]. The output is float32: states [texts, tokens, hidden] or logits [texts, labels].

    Raises:
        PreconditionFailed: a library is missing, the model can't be exported, or the export is not the model.
        Unavailable: another process has been exporting it for too long.
    """
    directory = model.directory.with_name(f"{model.directory.name}-onnx-{output}-r{REVISION}")
    if _ready(directory, model):
        return directory / _FILE
    try:
        with FileLock(directory.with_name(f".{directory.name}.lock"), timeout=LOCK_LIMIT_S):
            if not _ready(directory, model):
                _make(directory, model, output)
    except Timeout as error:
        raise Unavailable(f"the model {model.name}, which another process is exporting,", 30.0) from error
    return directory / _FILE


def _ready(directory: Path, model: PreparedModel) -> bool:
    """The source is written last, into a directory that is renamed into place afterwards."""
    source = directory / _SOURCE
    return source.is_file() and source.read_text(encoding="utf-8") == model.digest


def _make(directory: Path, model: PreparedModel, output: Output) -> None:
    temporary = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", suffix=".partial", dir=directory.parent))
    try:
        _export(temporary / _FILE, model, output)
        (temporary / _SOURCE).write_text(model.digest, encoding="utf-8")
        if directory.exists():
            shutil.rmtree(directory)
        temporary.rename(directory)
    except ImportError as error:
        fault = f"exporting the model needs the library {error.name or error}"
        raise PreconditionFailed("LIBRARY_MISSING", fault, "run `pip install 'citemesh[onnx]'`") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _export(file: Path, model: PreparedModel, output: Output) -> None:
    import torch

    network, names = _network(model, output)
    example = _inputs(network.vocabulary, names, (2, 7), 0)
    texts, tokens = torch.export.Dim("texts"), torch.export.Dim("tokens", max=model.max_tokens)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it warns of torchvision, which no text needs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own
        torch.onnx.export(
            network,
            tuple(torch.from_numpy(example[name]) for name in names),
            file,
            input_names=names,
            output_names=[output],
            dynamic_shapes=(tuple({0: texts, 1: tokens} for _ in names),),
            dynamo=True,
            verbose=False,
        )
    _compare(file, network, names, model.max_tokens)


def _network(model: PreparedModel, output: Output) -> tuple[Any, list[str]]:
    """The model as a module from arrays to one output, and the names of its inputs."""
    import torch
    from transformers import AutoModel, AutoModelForSequenceClassification

    loader: Any = AutoModel if output == "states" else AutoModelForSequenceClassification
    with quiet_transformers():
        loaded = loader.from_pretrained(model.directory, dtype=torch.float32, local_files_only=True).eval()
    names = ["input_ids", "attention_mask"]
    if getattr(loaded.config, "type_vocab_size", 0) > 1:
        names.append("token_type_ids")

    class Network(torch.nn.Module):  # type: ignore[misc]  # checked without PyTorch's own types
        def __init__(self) -> None:
            super().__init__()
            self.model = loaded
            self.vocabulary = int(loaded.config.vocab_size)

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            outputs = self.model(**dict(zip(names, inputs, strict=True)))
            result: torch.Tensor = outputs.last_hidden_state if output == "states" else outputs.logits
            return result

    return Network().eval(), names


def _inputs(vocabulary: int, names: Sequence[str], shape: tuple[int, int], seed: int) -> dict[str, NDArray[np.int64]]:
    """Ids drawn by chance, the second text and those after it half as long as the first."""
    chance = np.random.default_rng(seed)
    mask = np.ones(shape, np.int64)
    mask[1:, (shape[1] + 1) // 2 :] = 0
    halves = np.zeros(shape, np.int64)
    halves[:, shape[1] // 4 :] = 1
    every = {
        "input_ids": chance.integers(min(5, vocabulary - 1), vocabulary, shape, dtype=np.int64),
        "attention_mask": mask,
        "token_type_ids": halves * mask,
    }
    return {name: every[name] for name in names}


def _compare(file: Path, network: Any, names: Sequence[str], max_tokens: int) -> None:
    """Raises PreconditionFailed where the file gives other outputs than the model."""
    import torch

    session = OnnxModel(file, threads=1)
    for seed, shape in enumerate(((1, 1), (1, 5), (3, min(40, max_tokens)), (2, max_tokens))):
        inputs = _inputs(network.vocabulary, names, shape, seed)
        with torch.inference_mode():
            expected = network(*(torch.from_numpy(inputs[name]) for name in names)).numpy()
        actual = session(inputs)
        real = inputs["attention_mask"].astype(bool) if expected.ndim == 3 else slice(None)
        deviation = float(np.abs(actual[real] - expected[real]).max() / max(1e-6, np.abs(expected[real]).max()))
        if not deviation <= _CLOSEST:
            raise PreconditionFailed(
                "EXPORT_WRONG",
                f"the ONNX export of {file.parent.name} gives other outputs than the model (apart by {deviation:.2g})",
                "use the engine torch for this model",
            )


@dataclass(slots=True)
class _Session:
    run: Any
    names: list[str]


class OnnxModel:
    """An ONNX file in ONNX Runtime on the CPU, with one output. May be called from several threads at once.

    Args:
        threads: of one call.
    """

    def __init__(self, file: Path, threads: int) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            fault = "the engine onnx needs the library onnxruntime"
            raise PreconditionFailed("LIBRARY_MISSING", fault, "run `pip install 'citemesh[onnx]'`") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        inference_session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        self._session = _Session(
            inference_session.run, [model_input.name for model_input in inference_session.get_inputs()]
        )

    def __call__(self, inputs: dict[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        """The output for inputs of shape [texts, tokens]; those that the model doesn't take are left out, and ones
        that are missing are 0."""
        shape = inputs["input_ids"].shape
        feeds = {name: inputs.get(name, np.zeros(shape, np.int64)) for name in self._session.names}
        return np.asarray(self._session.run(None, feeds)[0], np.float32)
