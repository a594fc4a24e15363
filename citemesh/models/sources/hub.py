"""References to a model hub. Nothing here runs unless a setting names a hub."""

from __future__ import annotations

from pathlib import Path

from citemesh.errors import NotFound, Unavailable
from citemesh.models.progress import Progress
from citemesh.models.sources.directory import link_model
from citemesh.models.sources.recipe import Made, Recipe, key_of

_FILE_PATTERNS = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja", "1_Pooling/*"]
_OWN_BYTES = 1_000_000
_RETRY_AFTER_S = 60.0


def hub_recipe(repository: str, revision: str) -> Recipe:
    """Returns the recipe that fetches `repository` (owner/name) at `revision`, empty for the default branch.

    The files stay in the hub library's own cache and are linked. Once prepared, the hub is not asked again: pin another
    revision, or remove the prepared directory, to move on.
    """

    def make(directory: Path, progress: Progress) -> Made:
        progress(f"fetching {repository} from the hub", 0.0)
        snapshot = _snapshot(repository, revision)
        source = f"{repository}@{snapshot.name}"
        return link_model(snapshot, directory, repository.partition("/")[2], source)

    return Recipe(key_of(repository.replace("/", "--"), revision or "main"), _OWN_BYTES, make)


def _snapshot(repository: str, revision: str) -> Path:
    """Downloads what is missing and returns the snapshot's directory, whose name is the commit."""
    from huggingface_hub import errors, snapshot_download

    try:
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=_FILE_PATTERNS))
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.GatedRepoError) as error:
        remedy = "check the spelling and the revision; a private or gated one needs HF_TOKEN"
        raise NotFound("hub model", f"{repository}@{revision or 'main'}", remedy) from error
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError) as error:
        remedy = "check the network, or download the model elsewhere and name it as dir:/path"
        raise Unavailable(f"the model hub, asked for {repository},", _RETRY_AFTER_S, remedy) from error
