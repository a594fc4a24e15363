"""The process of its own in which documents are read, and what is said between it and the service."""
