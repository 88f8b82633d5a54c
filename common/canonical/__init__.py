"""Canonical encodings of what is signed, hashed or kept in ledgers; they depend on no library."""
