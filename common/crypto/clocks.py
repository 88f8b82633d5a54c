"""How far clocks may differ, and what is said of those that differ more."""

ALLOWED_S = 60.0
"""Largest allowed difference of two clocks, in seconds; certificates, decisions and logs depend on it."""

REMEDY = "synchronise both clocks by NTP"
