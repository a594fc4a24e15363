"""Where a reference leads: a package, a directory or a hub."""
