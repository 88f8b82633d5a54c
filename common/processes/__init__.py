"""What processes do beside their task: work in parallel, wait for each other, stop, tell their operator."""
