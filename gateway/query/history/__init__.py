"""What was said before a question."""
