"""What all commands share: options, connections, failures and text on a terminal."""
