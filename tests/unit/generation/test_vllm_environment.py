"""What vLLM reads is set in one place; nothing of it reports to anybody."""

import os

import pytest

from services.generation.engines import vllm_environment


@pytest.mark.parametrize("cpu", [True, False])
def test_it_is_quiet_offline_and_leaves_cores_free(monkeypatch: pytest.MonkeyPatch, cpu: bool) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(vllm_environment, "built_for_cpu", lambda: cpu)
    vllm_environment.prepare(threads=3)
    expected = {
        "OMP_NUM_THREADS": "3",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
    }
    assert expected.items() <= os.environ.items()
    assert (os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING") == "0") is cpu
