"""Certificates: issuing, signing, verification."""
