"""From text to vectors: the encoders, and the queue in front of them."""
