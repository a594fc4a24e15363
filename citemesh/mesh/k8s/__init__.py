"""The topology as objects of Kubernetes: dicts, and the sorted YAML that is committed."""
