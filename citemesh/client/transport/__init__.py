"""How calls travel: channels, time limits, headers, traces, and streams of requests."""
