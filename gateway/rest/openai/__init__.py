"""The API of OpenAI's clients."""
