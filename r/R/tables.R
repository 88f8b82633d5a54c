# Data frames as the command reads and writes them.

# Writes a data frame as CSV that its owner alone can read.
write_table <- function(data, path) {
  held <- vapply(data, function(column) is.atomic(column) && is.null(dim(column)), logical(1))
  if (!all(held)) {
    stop(
      "expected columns of numbers, texts, factors, logicals, dates or times, got another in ", names(data)[!held][[1]],
      "; convert or drop it",
      call. = FALSE
    )
  }
  times <- vapply(data, inherits, logical(1), what = "POSIXct")
  data[times] <- lapply(data[times], format, format = "%Y-%m-%dT%H:%M:%S")
  file.create(path)
  Sys.chmod(path, "600")
  utils::write.csv(data, path, row.names = FALSE, na = "", fileEncoding = "UTF-8")
}

# Reads a table that the command wrote; with the types of a data frame, if one is given.
read_table <- function(path, like = NULL) {
  texts <- utils::read.csv(path, colClasses = "character", na.strings = "", check.names = FALSE, encoding = "UTF-8")
  for (name in names(texts)) {
    texts[[name]] <- if (name %in% names(like)) {
      as_type(texts[[name]], like[[name]])
    } else {
      utils::type.convert(texts[[name]], as.is = TRUE)
    }
  }
  texts
}

# Texts with the type of another column. Levels of a factor are those that occur, in the order that it has.
as_type <- function(texts, like) {
  if (is.factor(like)) {
    found <- unique(texts[!is.na(texts)])
    known <- c(intersect(levels(like), found), setdiff(found, levels(like)))
    return(factor(texts, levels = known, ordered = is.ordered(like)))
  }
  if (inherits(like, "Date")) {
    return(as.Date(texts))
  }
  if (inherits(like, "POSIXct")) {
    zone <- attr(like, "tzone")
    return(as.POSIXct(sub("T", " ", texts), tz = if (is.null(zone)) "" else zone[[1]]))
  }
  if (is.logical(like)) {
    return(toupper(texts) == "TRUE")
  }
  if (is.numeric(like)) {
    numbers <- suppressWarnings(as.numeric(texts))
    if (any(is.na(numbers) & !is.na(texts))) {
      return(texts)
    }
    whole <- is.integer(like) && all(is.na(numbers) | numbers == round(numbers))
    return(if (whole) as.integer(numbers) else numbers)
  }
  texts
}
