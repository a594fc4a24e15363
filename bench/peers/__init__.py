"""What CiteMesh is measured against: other ways to do the same, each as a person would write it."""
