"""Drafts of related tables: which belong to which, and which columns follow from that. Not private."""
