"""Commands for collections and their copies."""
