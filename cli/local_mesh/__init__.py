"""A mesh of processes on this machine: its layout, keys, ports and supervisor."""
