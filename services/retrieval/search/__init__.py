"""What searching is for every engine: its parts, their fusion, words, filters and near-duplicates."""
