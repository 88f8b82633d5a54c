"""What a table is: attributes and their codes, domains, rows, workloads."""
