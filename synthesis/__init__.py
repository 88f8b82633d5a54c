"""What somebody who holds whole tables calls: a private release in one call, and its evaluation."""
