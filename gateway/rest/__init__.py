"""The gateway over HTTP: translations of the same answers, with no logic of their own."""
