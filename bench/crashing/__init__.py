"""A store that is killed again and again, and what must hold after each kill."""
