"""The size of a frame, which sealing and the wire agree on."""

FRAME_BYTES = 1 << 20
"""Payload of one frame; no message is larger."""
