"""What every room's server stands on: settings, telemetry, status, deadline, health, start and drain."""
