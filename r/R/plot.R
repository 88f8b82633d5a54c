# The real table beside the synthetic one, for the owner of the real one alone.

plot.dpmosaic_release <- function(x, y, columns = NULL, ...) {
  shared <- intersect(names(x$table), names(y))
  columns <- utils::head(if (is.null(columns)) shared else intersect(columns, shared), 12)
  across <- ceiling(sqrt(length(columns)))
  before <- graphics::par(mfrow = c(ceiling(length(columns) / across), across), mar = c(4, 4, 2, 1))
  on.exit(graphics::par(before))
  for (name in columns) {
    plot_column(name, y[[name]], x$table[[name]])
  }
  invisible(x)
}

plot_column <- function(name, real, synthetic) {
  if (is.numeric(real) && length(unique(real)) > 12) {
    breaks <- pretty(range(real, synthetic, na.rm = TRUE), 24)
    heights <- lapply(list(real, synthetic), function(one) graphics::hist(one, breaks, plot = FALSE)$density)
    graphics::plot(
      range(breaks), c(0, max(unlist(heights))),
      type = "n", xlab = name, ylab = "density", main = name
    )
    graphics::lines(breaks, c(heights[[1]], 0), type = "s", col = "grey40", lwd = 2)
    graphics::lines(breaks, c(heights[[2]], 0), type = "s", col = "#d95f02", lwd = 2)
  } else {
    values <- as.character(unique(c(as.character(real), as.character(synthetic))))
    common <- names(sort(table(factor(as.character(real), levels = values)), decreasing = TRUE))
    shares <- rbind(
      real = prop.table(table(factor(as.character(real), levels = common))),
      synthetic = prop.table(table(factor(as.character(synthetic), levels = common)))
    )[, seq_len(min(12, length(common))), drop = FALSE]
    graphics::barplot(shares, beside = TRUE, col = c("grey40", "#d95f02"), border = NA, main = name, ylab = "share", las = 2)
  }
  graphics::legend("topright", c("real", "synthetic"), fill = c("grey40", "#d95f02"), border = NA, bty = "n")
}
