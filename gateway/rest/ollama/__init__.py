"""The API of Ollama's clients."""
