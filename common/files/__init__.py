"""Files that DuckDB does not read: Feather, Excel, and those of SPSS, Stata and SAS with labels of values."""
