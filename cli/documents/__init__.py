"""Commands that ingest, follow, list and delete documents."""
