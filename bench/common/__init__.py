"""What the benches share: arguments, statistics, the report as tables and as JSON, and meshes of their own."""
