"""What is signed, hashed or kept in ledgers, as bytes that depend on no library."""
