"""Size of a frame, shared by sealed streams and the wire format."""

FRAME_BYTES = 1 << 20
"""Largest payload of a frame; no message has a larger one."""

MESSAGE_BYTES = FRAME_BYTES + (1 << 16)
"""Largest encoded message: a frame with its header."""
