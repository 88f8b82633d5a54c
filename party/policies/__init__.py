"""What a party allows: its policy's file, and the domain, rows and peers that it names."""
