"""What every mechanism, protocol, source and metric keeps, as classes of tests to inherit."""
