"""From the files that packages carry to directories that transformers loads."""
