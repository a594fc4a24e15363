"""What every service's server stands on: settings, telemetry, status, deadline, health, start and drain."""
