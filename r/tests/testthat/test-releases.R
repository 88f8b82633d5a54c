# A release is made once, and asked by every test.

rows <- local({
  set.seed(7)
  n <- 2000
  arm <- factor(sample(c("old", "new"), n, TRUE), levels = c("old", "new"))
  data.frame(
    arm = arm,
    size = factor(sample(c("S", "M", "L"), n, TRUE), levels = c("S", "M", "L"), ordered = TRUE),
    day = as.Date("2024-01-01") + sample(0:300, n, TRUE),
    age = sample(18:90, n, TRUE),
    score = round(rnorm(n, 10 + 2 * (arm == "new"), 3), 1),
    ill = sample(c(TRUE, FALSE), n, TRUE),
    town = sample(c("Z\u00fcrich", "Bern", NA), n, TRUE)
  )
})
domain <- list(
  arm = c("old", "new"), size = list(type = "categorical", categories = c("S", "M", "L"), ordered = TRUE),
  day = list(type = "date", min = "2024-01-01", max = "2024-12-31", bins = 12),
  age = list(type = "numeric", min = 18, max = 90, bins = "auto", integer = TRUE),
  score = list(type = "numeric", min = 0, max = 24, bins = "auto"), ill = list(type = "boolean"),
  town = c("Z\u00fcrich", "Bern", "")
)
release <- synthesize(rows, epsilon = 20, domain = domain, seed = 1, ledger = FALSE)

test_that("the table has the types of the data frame", {
  made <- as.data.frame(release)
  expect_equal(lapply(made, class), lapply(rows, class))
  expect_equal(levels(made$size), c("S", "M", "L"))
  expect_true(anyNA(made$town))
  expect_setequal(unique(na.omit(made$town)), c("Z\u00fcrich", "Bern"))
  expect_lt(abs(nrow(made) - 2000), 200)
})

test_that("it says what was promised", {
  expect_output(print(release), "epsilon 20")
  expect_output(print(release), "NOT A RELEASE")
  expect_equal(release$certificate$promise$epsilon, 20)
})

test_that("a query has intervals that hold the real number", {
  found <- query(release, "SELECT arm, AVG(score) FROM release GROUP BY arm")
  real <- tapply(rows$score, rows$arm, mean)[found$arm]
  expect_true(all(found[[2]] - 5 * (found[[4]] - found[[3]]) < real & real < found[[2]] + 5 * (found[[4]] - found[[3]])))
  expect_error(query(release, "SELECT nothing FROM release"), "nothing")
})

test_that("fits on copies are pooled by mice", {
  skip_if_not_installed("mice")
  fits <- with(copies(release, 3, seed = 1), lm(score ~ arm))
  pooled <- summary(mice::pool(fits))
  expect_lt(abs(pooled$estimate[pooled$term == "armnew"] - 2), 1)
  expect_true(all(pooled$std.error > 0))
})

test_that("the two tables are measured and drawn for their owner", {
  expect_gt(length(evaluate(rows, release)), 0)
  picture <- tempfile(fileext = ".pdf")
  pdf(picture)
  plot(release, rows)
  dev.off()
  expect_gt(file.size(picture), 1000)
})

test_that("a data frame has one ledger, which knows the second release", {
  withr_state <- Sys.getenv("R_USER_DATA_DIR")
  on.exit(Sys.setenv(R_USER_DATA_DIR = withr_state))
  Sys.setenv(R_USER_DATA_DIR = tempfile("state-"))
  two <- rows[c("arm", "ill")]
  make <- function() synthesize(two, 1, domain = domain[c("arm", "ill")], mechanism = "independent")
  make()
  expect_warning(make(), "released before")
})

test_that("errors of the command are errors of R, before anything is spent", {
  expect_error(synthesize(rows, epsilon = -1, domain = domain), "epsilon")
  expect_error(synthesize(rows, domain = list(nothing = 2)), "nothing")
  expect_error(synthesize(data.frame(a = I(list(1, 2)))), "numbers, texts")
  withr <- options(dpmosaic.command = "")
  on.exit(options(withr))
  expect_error(synthesize(rows), "pip install dpmosaic")
})
