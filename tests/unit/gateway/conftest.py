"""Properties have no time limit of their own here: tests share a machine, and pytest's limit holds."""

from hypothesis import settings

settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")
