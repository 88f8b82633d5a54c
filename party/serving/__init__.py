"""A party as a process: transport, health, logs."""
