"""Parties in this process, and how a table is partitioned over them."""
