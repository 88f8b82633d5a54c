"""Encoding and transport of messages between a curator and its parties."""
