"""The dossier of a release: what officers, catalogues and journals ask for, and a second verifier."""
