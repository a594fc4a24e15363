"""Commands for whoever runs a mesh."""
