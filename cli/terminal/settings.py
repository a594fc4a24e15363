"""Settings of the command line; options given to a command win over them."""

from pydantic import Field

from citemesh.kit.settings import CommonSettings, load, service_config


class CliSettings(CommonSettings):
    """`CITEMESH_CLI_…`."""

    model_config = service_config("cli")

    target: str = Field(
        "",
        description="gRPC address of the gateway to ask; empty takes the mesh that runs in the state directory.",
    )
    documents_target: str = Field(
        "",
        description="gRPC address of the retrieval service that takes documents in; empty takes the running mesh's.",
    )
    key: str = Field("", repr=False, description="API key to call with; empty takes the running mesh's default key.")
    timeout_s: float = Field(120.0, gt=0, le=86400, description="Seconds that a question or a search may take.")
    port_base: int = Field(
        8080, ge=1, le=65000, description="Port of the public ingress; the other ports follow from it."
    )


def cli_settings() -> CliSettings:
    """The settings, read once a command.

    Raises:
        InvalidInput: a value out of bounds, or a `CITEMESH_*` variable that nothing declares.
    """
    return load(CliSettings)
