"""The tables of the store: how each is read and written."""
