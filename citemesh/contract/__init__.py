"""What callers and services agree on beside the messages: bounds, source types and filters, checked in one place."""
