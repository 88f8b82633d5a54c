"""Files: kinds that DuckDB does not read, such as Excel and SPSS, and how files are written."""
