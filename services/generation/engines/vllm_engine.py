"""vLLM's AsyncLLM as a GenerationEngine, on a CPU or a GPU.

vLLM runs the model in processes of its own; this one hands prompts over and passes on what comes back. Text comes from
vLLM's incremental detokenizer, which holds back bytes until they are whole characters.
"""

import asyncio
import sys
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from citemesh.errors import InvalidInput, Overloaded, PreconditionFailed, Unavailable
from citemesh.models import PreparedModel, prepare
from citemesh.models.tokens.digest import tokenizer_digest
from services.generation.engine import AnswerPart, EngineState, Finish, ModelFacts, SamplingOptions, TokenUsage, Work
from services.generation.engines import vllm_environment
from services.generation.engines.background import in_background
from services.generation.engines.prompts import TextPrompt, check_length
from services.generation.engines.threads import SETTING

Dtype = Literal["auto", "bfloat16", "float16", "float32"]
FINISH = {"stop": Finish.STOP, "repetition": Finish.STOP, "length": Finish.LENGTH, "abort": Finish.ABORT}
"""vLLM's reasons; with "error" it raises."""
WORKER = "services.generation.engines.cpu_worker.ReadingWorker"
STRUCTURED = {"backend": "xgrammar", "disable_any_whitespace": True}
"""JSON without white space between its parts, where a small model can go on to its limit of tokens. vLLM takes that
for a fixed backend only; this one reads the EBNF of grammars too."""
SHUTDOWN_S = 1.0
"""Seconds that vLLM's processes get to end by themselves; they rarely do sooner, with so much memory to give back."""


@dataclass(frozen=True, slots=True)
class VllmOptions:
    """Options of the engine; see GenerationSettings."""

    model: str
    models_dir: Path
    device: str = "auto"
    dtype: Dtype = "auto"
    max_model_tokens: int = 8192
    threads: int = 1
    reading_threads: int = 0
    kv_cache_bytes: int = 1 << 30
    gpu_memory_utilization: float = 0.9
    compile: bool = False
    max_running: int = 16
    max_requests: int = 64


class VllmEngine:
    """See GenerationEngine.

    A dead engine stays dead: the process ends and its supervisor starts a new one. Building another in this process
    would save one import of vLLM out of three, at the price of a second way to start that is rarely used.
    """

    def __init__(self, options: VllmOptions) -> None:
        self._options = options
        self._llm: Any = None
        self._text: TextPrompt | None = None
        self._max_tokens = 0
        self._waiting = 0
        self._memory = 0.0
        self.scheduled = 0
        """Requests that vLLM's scheduler held after its last step."""

    async def start(self) -> ModelFacts:
        """Prepares and loads the model, in a thread: both take long."""
        return await in_background(self._load)

    async def stop(self) -> None:
        """Ends vLLM's processes; requests in progress are aborted."""
        llm, self._llm = self._llm, None
        if llm is not None:
            await asyncio.to_thread(llm.shutdown, SHUTDOWN_S)

    async def state(self) -> EngineState:
        """Says what state vLLM is in: its unfinished requests, and how many of them its scheduler lets wait."""
        if self._llm is None or self._llm.errored:
            return EngineState(healthy=False)
        unfinished = self._llm.get_num_unfinished_requests()
        waiting = min(self._waiting, unfinished)
        return EngineState(True, unfinished - waiting, waiting, self._memory if unfinished else 0.0)

    async def generate(self, work: Work) -> AsyncGenerator[AnswerPart, None]:
        """Writes; closing or cancelling the generator aborts the request at once."""
        llm = self._living()
        ids = await self._ids(work.prompt)
        check_length(len(ids), self._max_tokens)
        tokens = 0
        try:
            async with aclosing(self._outputs(llm, ids, work)) as outputs:
                async for output in outputs:
                    (choice,) = output.outputs
                    tokens += len(choice.token_ids)
                    usage = TokenUsage(len(ids), tokens, output.num_cached_tokens or 0) if output.finished else None
                    finish = FINISH[choice.finish_reason] if output.finished else None
                    yield AnswerPart(choice.text, tuple(choice.token_ids), finish, usage)
        except Exception as fault:
            raise translated(fault) from fault

    def _outputs(self, llm: Any, ids: list[int], work: Work) -> AsyncGenerator[Any, None]:
        from vllm.inputs.engine import tokens_input

        remaining = self._max_tokens - len(ids)
        outputs: AsyncGenerator[Any, None] = llm.generate(
            tokens_input(ids), _params(work.sampling, remaining), request_id=uuid.uuid4().hex, priority=work.priority
        )
        return outputs

    async def _ids(self, prompt: tuple[int, ...] | str) -> list[int]:
        if isinstance(prompt, tuple):
            return list(prompt)
        if self._text is None:
            raise Unavailable("the language model")
        return await asyncio.to_thread(self._text.ids, prompt)

    def _living(self) -> Any:
        if self._llm is None or self._llm.errored:
            raise Unavailable("the language model's engine")
        return self._llm

    def _load(self) -> ModelFacts:
        model = prepare(self._options.model, self._options.models_dir)
        vllm_environment.prepare(self._options.threads)
        self._max_tokens = min(self._options.max_model_tokens, model.max_tokens or self._options.max_model_tokens)
        self._text = TextPrompt(model.directory)
        self._llm = self._build(model)
        return ModelFacts(model.name, self._max_tokens, tokenizer_digest(model.directory), "vllm")

    def _build(self, model: PreparedModel) -> Any:
        """Starts vLLM. Raises PreconditionFailed with vLLM's words where it can't."""
        try:
            from vllm.engine.arg_utils import AsyncEngineArgs
            from vllm.v1.engine.async_llm import AsyncLLM
            from vllm.v1.metrics.loggers import StatLoggerBase

            memory = _platform(self._options)
            arguments = AsyncEngineArgs(
                model=str(model.directory),
                served_model_name=model.name,
                dtype=self._options.dtype,
                max_model_len=self._max_tokens,
                max_num_seqs=self._options.max_running,
                max_num_queued_reqs=self._options.max_requests,
                enforce_eager=not self._options.compile,
                scheduling_policy="priority",
                enable_prefix_caching=True,
                enable_log_requests=False,
                disable_log_stats=True,
                structured_outputs_config=STRUCTURED,
                **memory,
            )
            return AsyncLLM.from_engine_args(arguments, stat_loggers=[self._watcher(StatLoggerBase)])
        except ImportError as fault:
            remedy = "install citemesh[generation-cpu], or citemesh[generation-gpu] where there is a GPU"
            raise PreconditionFailed("VLLM_MISSING", f"vLLM can't be imported: {fault}", remedy) from fault
        except (RuntimeError, ValueError) as fault:
            remedy = "see the log above this line; often the memory or max_model_tokens setting is too large"
            raise PreconditionFailed("VLLM_START", f"vLLM did not start: {fault}", remedy) from fault

    def _watcher(self, base: Any) -> Any:
        """Returns a factory of the logger that vLLM tells its scheduler's state after each step."""
        engine = self

        class Watcher(base):  # type: ignore[misc]  # the base is imported when vLLM is
            def __init__(self, *_: Any, **__: Any) -> None:
                pass

            def record(self, scheduler_stats: Any, *_: Any, **__: Any) -> None:
                if scheduler_stats is not None:
                    engine._waiting = scheduler_stats.num_waiting_reqs + scheduler_stats.num_skipped_waiting_reqs
                    engine.scheduled = scheduler_stats.num_running_reqs + engine._waiting
                    engine._memory = scheduler_stats.kv_cache_usage

            def log_engine_initialized(self) -> None:
                pass

        return Watcher


def _platform(options: VllmOptions) -> dict[str, Any]:
    """Returns the arguments for the platform that vLLM found. Raises PreconditionFailed for the wrong one."""
    from vllm.platforms import current_platform

    platform = "cpu" if current_platform.is_cpu() else "cuda"
    if options.device not in ("auto", platform):
        extra = "generation-gpu" if options.device == "cuda" else "generation-cpu"
        fault = f"the installed vLLM runs on {platform}, the device setting wants {options.device}"
        raise PreconditionFailed("WRONG_DEVICE", fault, f"install citemesh[{extra}], or set the device to auto")
    if platform == "cpu":
        threads = (options.threads, options.reading_threads)
        worker = {"worker_cls": WORKER, "additional_config": {SETTING: threads}}
        return {"kv_cache_memory_bytes": options.kv_cache_bytes, **(worker if sys.platform == "linux" else {})}
    return {"gpu_memory_utilization": options.gpu_memory_utilization}


def _params(sampling: SamplingOptions, most_tokens: int) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_tokens=min(sampling.max_tokens, most_tokens),
        stop=list(sampling.stop),
        seed=sampling.seed,
        repetition_penalty=sampling.repetition_penalty,
        structured_outputs=_structure(sampling),
        output_kind=RequestOutputKind.DELTA,
    )


def _structure(sampling: SamplingOptions) -> Any:
    """Returns the structure that the answer must follow, or None."""
    from vllm.sampling_params import StructuredOutputsParams

    if sampling.json_schema:
        return StructuredOutputsParams(json=sampling.json_schema)
    return StructuredOutputsParams(grammar=sampling.grammar) if sampling.grammar else None


def translated(fault: Exception) -> Exception:
    """Returns an error of vLLM as one of CiteMesh; others are left as they are."""
    from vllm.exceptions import MaxQueuedTokensError, QueueOverflowError, VLLMServerError, VLLMValidationError

    if isinstance(fault, VLLMValidationError):
        return InvalidInput(_field(fault), fault.args[0], "correct it and send the request again")
    if isinstance(fault, QueueOverflowError | MaxQueuedTokensError):
        return Overloaded("the language model's queue", 1.0)
    if isinstance(fault, VLLMServerError):
        return Unavailable("the language model's engine", 5.0)
    return fault


def _field(fault: Any) -> str:
    """Returns the request's field that vLLM complains about."""
    parameter = fault.parameter or ""
    fields = ("temperature", "top_p", "max_tokens", "stop", "seed", "repetition_penalty")
    message = str(fault.args[0]).lower()
    if not parameter and ("grammar" in message or "structured" in message):  # of these vLLM names no parameter
        return "sampling.json_schema" if "json" in message else "sampling.grammar"
    return f"sampling.{parameter}" if parameter in fields else "prompt"
