# Releases: made, shown, asked.

synthesize <- function(data, epsilon = 1, ..., delta = 1e-9, domain = NULL, out = tempfile("release-"), ledger = TRUE) {
  folder <- tempfile("dpmosaic-")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  if (is.data.frame(data)) {
    table <- file.path(folder, "table.csv")
    write_table(data, table)
    if (isTRUE(ledger)) {
      ledger <- ledger_of(table, folder)
    }
  } else {
    table <- path.expand(data)
  }
  if (is.list(domain)) {
    written <- file.path(folder, "domain.json")
    jsonlite::write_json(domain, written, auto_unbox = TRUE, digits = NA, null = "null")
    domain <- written
  }
  counted <- if (isTRUE(ledger)) list() else if (isFALSE(ledger)) list(no_ledger = TRUE) else list(ledger = ledger)
  stated <- c(list(epsilon = epsilon, delta = delta, domain = domain, out = out), counted, list(...))
  said <- jsonlite::fromJSON(run_command(c("synthesize", table, options_of(stated), "--json")))
  for (one in said$warnings) {
    warning(one, call. = FALSE)
  }
  open_release(out, domain, said$labels, if (is.data.frame(data)) data)
}

# The ledger of the rows of a data frame: in the user's own folder, by a digest that needs the folder's key.
ledger_of <- function(table, folder) {
  state <- tools::R_user_dir("dpmosaic", "data")
  dir.create(state, mode = "0700", recursive = TRUE, showWarnings = FALSE)
  key <- file.path(state, "key")
  if (!file.exists(key)) {
    draft <- tempfile("key-", state)
    random <- file("/dev/urandom", "rb", raw = TRUE)
    writeBin(readBin(random, "raw", 32), draft)
    close(random)
    Sys.chmod(draft, "600")
    file.rename(draft, key)
  }
  both <- file.path(folder, "keyed")
  file.copy(key, both)
  file.append(both, table)
  file.path(state, paste0(unname(tools::md5sum(both)), ".dpmosaic-budget.json"))
}

open_release <- function(path, domain, labels, like = NULL) {
  learned <- file.path(path, "bins", "domain.json")
  structure(
    list(
      path = normalizePath(path),
      table = read_table(file.path(path, "synthetic.csv"), like),
      certificate = jsonlite::read_json(file.path(path, "certificate.json")),
      domain = paste(readLines(if (file.exists(learned)) learned else domain, encoding = "UTF-8"), collapse = "\n"),
      labels = as.character(labels),
      types = like[0, , drop = FALSE]
    ),
    class = "dpmosaic_release"
  )
}

print.dpmosaic_release <- function(x, ...) {
  promise <- x$certificate$promise
  cat(sprintf(
    "A synthetic table of %d rows and %d columns, with epsilon %g and delta %g\n",
    nrow(x$table), ncol(x$table), promise$epsilon, promise$delta
  ))
  cat(x$labels, sep = "\n")
  print(utils::head(x$table))
  invisible(x)
}

as.data.frame.dpmosaic_release <- function(x, ...) x$table

query <- function(release, sql, level = 0.95, population = FALSE) {
  lines <- run_command(c("query", release$path, sql, options_of(list(level = level, population = population)), "--csv", "-"))
  utils::read.csv(text = lines, check.names = FALSE, na.strings = "")
}

evaluate <- function(data, release) {
  folder <- tempfile("dpmosaic-")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  real <- file.path(folder, "real.csv")
  domain <- file.path(folder, "domain.json")
  write_table(data, real)
  writeLines(enc2utf8(release$domain), domain, useBytes = TRUE)
  synthetic <- file.path(release$path, "synthetic.csv")
  jsonlite::fromJSON(run_command(c("evaluate", real, synthetic, "--domain", domain, "--json")))
}
