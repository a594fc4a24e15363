"""The engine over Milvus."""
