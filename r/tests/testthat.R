library(testthat)
library(dpmosaic)

test_check("dpmosaic")
