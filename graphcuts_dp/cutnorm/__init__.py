"""Cut norms with certificates; reads matrices, never a private graph."""
