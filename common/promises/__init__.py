"""What participants of a release sign and keep to: acceptances, bindings, prices, statements."""
