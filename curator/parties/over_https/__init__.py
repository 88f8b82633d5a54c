"""The mailbox of a curator: parties by files fetch their files over HTTPS, and bring the answers."""
