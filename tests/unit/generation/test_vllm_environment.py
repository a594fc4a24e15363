"""What vLLM reads is set in one place; nothing of it reports to anybody."""

import os

import pytest

from services.generation.engines import vllm_environment


def test_it_is_quiet_offline_and_leaves_cores_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    vllm_environment.prepare(threads=3)
    expected = {
        "OMP_NUM_THREADS": "3",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
    }
    assert expected.items() <= os.environ.items()
