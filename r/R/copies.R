# Copies: tables that differ as the real table may differ from a release.

copies <- function(release, m = 10, seed = NULL) {
  out <- tempfile("copies-")
  on.exit(unlink(out, recursive = TRUE))
  run_command(c("copies", release$path, options_of(list(number = m, out = out, seed = seed)), "--json"))
  files <- sort(list.files(out, "[.]csv$", full.names = TRUE))
  structure(lapply(files, read_table, like = release$types), class = "dpmosaic_copies")
}

# A fit on each copy, as `mice::pool` takes them.
with.dpmosaic_copies <- function(data, expr, ...) {
  asked <- substitute(expr)
  caller <- parent.frame()
  fits <- lapply(data, function(one) eval(asked, one, caller))
  structure(list(call = sys.call(), call1 = NULL, nmis = NULL, analyses = fits), class = c("mira", "matrix"))
}
