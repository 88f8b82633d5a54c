"""Tables: attributes and their codes, domains, rows, workloads."""
