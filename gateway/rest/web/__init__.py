"""The page at ``/``: plain files, served as they are, with a policy that lets nothing else run."""
