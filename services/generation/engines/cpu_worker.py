"""vLLM's worker on a CPU, which reads long prompts with idle cores as well.

Reading a prompt is bound by arithmetic and gains by every core. Writing is bound by memory: it gains nothing by a
second one, and loses much where another program works there, since the threads of a step wait for each other at
hundreds of places. So the number of threads is chosen for each step. vLLM loads this class by its name, in a process
of its own.
"""

from pathlib import Path
from typing import Any

from torch import set_num_threads  # taken before vLLM puts a function in its place that does nothing
from vllm.v1.worker.cpu_worker import CPUWorker

from citemesh.cpu import usable_cores
from services.generation.engines.threads import SETTING, Threads


class ReadingWorker(CPUWorker):  # type: ignore[misc]  # vLLM is shipped without types
    """See CPUWorker."""

    def __init__(self, vllm_config: Any, *arguments: Any, **more: Any) -> None:
        super().__init__(vllm_config, *arguments, **more)
        always, reading = vllm_config.additional_config[SETTING]
        most = reading or usable_cores()
        self._threads = Threads(always, most, Path("/proc/loadavg"))

    def execute_model(self, scheduler_output: Any) -> Any:
        """Runs one step."""
        threads = self._threads.of_step(scheduler_output.total_num_scheduled_tokens)
        if threads:
            set_num_threads(threads)
        return super().execute_model(scheduler_output)
