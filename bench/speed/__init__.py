"""What bench/retrieval_speed.py is made of: vectors, a service to ask, a peer to compare with, callers."""
