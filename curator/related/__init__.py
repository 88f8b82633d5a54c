"""Releases of related tables over parties: parts, each an ordinary release, under one promise."""
