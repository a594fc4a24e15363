"""What all APIs share: endpoints, fields, bodies, answers and errors."""
