# The command `dpmosaic`, which does the work: how it is found, called, and what it says.

# Path of the command: the option dpmosaic.command, or what is on the path.
find_command <- function() {
  found <- getOption("dpmosaic.command", unname(Sys.which("dpmosaic")))
  if (!nzchar(found)) {
    stop(
      "expected the command dpmosaic on the path, found none; install it by `pip install dpmosaic`, or name it ",
      "by options(dpmosaic.command = \"/path/to/dpmosaic\")",
      call. = FALSE
    )
  }
  found
}

# What a command prints, as lines. Its warnings become warnings of R, its error an error.
run_command <- function(arguments) {
  told <- tempfile("dpmosaic-")
  on.exit(unlink(told))
  printed <- suppressWarnings(
    system2(find_command(), shQuote(arguments), stdout = TRUE, stderr = told, env = environment_of_command())
  )
  lines <- readLines(told, warn = FALSE, encoding = "UTF-8")
  for (line in grep("^warning: ", lines, value = TRUE)) {
    warning(sub("^warning: ", "", line), call. = FALSE)
  }
  status <- attr(printed, "status")
  if (!is.null(status) && status != 0) {
    said <- sub("^error: ", "", grep("^error: ", lines, value = TRUE))
    stop(if (length(said)) said[[1]] else paste(utils::tail(lines, 3), collapse = "\n"), call. = FALSE)
  }
  Encoding(printed) <- "UTF-8"
  printed
}

# R names its own libraries, and the system's before others, to whatever it starts; the command has its own.
environment_of_command <- function() {
  named <- strsplit(Sys.getenv("LD_LIBRARY_PATH"), ":", fixed = TRUE)[[1]]
  others <- named[!startsWith(named, R.home()) & !grepl("^(/usr)?/lib", named)]
  c("COLUMNS=100000", "NO_COLOR=1", paste0("LD_LIBRARY_PATH=", shQuote(paste(others, collapse = ":"))))
}

# Options of a command: TRUE is a flag, several values are given one after the other, NULL and FALSE none.
options_of <- function(values) {
  unlist(Map(
    function(name, value) {
      option <- paste0("--", gsub("_", "-", name))
      if (is.null(value) || identical(value, FALSE)) {
        character()
      } else if (isTRUE(value)) {
        option
      } else {
        text <- if (is.numeric(value)) format(value, digits = 15, scientific = FALSE, trim = TRUE) else as.character(value)
        as.vector(rbind(option, text))
      }
    },
    names(values), values
  ), use.names = FALSE)
}
