"""Makes what the settings describe: the engine, the embedding model, the parts of ingestion."""
