"""Real documents to ask about: the evaluation data where present, else the project's own."""

import os
from pathlib import Path

from citemesh.client.types import Upload

ROOT = Path(__file__).resolve().parents[2]
TYPES = {".md": "text/markdown", ".txt": "text/plain", ".html": "text/html", ".pdf": "application/pdf"}


def data_dir() -> Path | None:
    """Folder of the evaluation data, or None where there is none."""
    folder = Path(os.environ.get("CITEMESH_EVAL_DATA") or ROOT.parent / "shared" / "data")
    return folder if folder.is_dir() else None


def upload(path: Path, **more: str) -> Upload:
    """A file as an upload."""
    return Upload(path.name, path.read_bytes(), uri=path.name, media_type=TYPES.get(path.suffix, ""), **more)


def english() -> list[Path]:
    """A few pages in English."""
    data = data_dir()
    if data is None:
        return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))[:6]]
    folder = data / "apisix-docs" / "docs" / "en" / "latest"
    return [folder / name for name in ("grpc-proxy.md", "mtls.md", "batch-processor.md", "debug-mode.md", "profile.md")]


def chinese() -> list[Path]:
    """A few pages in Chinese."""
    data = data_dir()
    if data is None:
        return sorted((ROOT / "tests" / "support").glob("*.zh.md"))
    folder = data / "apisix-docs" / "docs" / "zh" / "latest"
    return [folder / name for name in ("grpc-proxy.md", "mtls.md", "batch-processor.md", "debug-mode.md")]
