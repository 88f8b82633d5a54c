"""What an operator does with the folder of a party or dealer: create, serve, examine, back up."""
