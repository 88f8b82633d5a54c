"""Text that is shown to people, on terminals and in spreadsheets."""
