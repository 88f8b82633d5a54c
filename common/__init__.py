"""Values, messages and protocols that the parties and the curator share."""

import os

# Anyone can begin a TLS handshake, and gRPC would write a line to standard error for each that it refuses.
# gRPC reads the variable when it is first imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
