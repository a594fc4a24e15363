"""Commands that ask and search, and how answers are shown."""
