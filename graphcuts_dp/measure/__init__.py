"""What a release buys of the private graph: noisy values, each with its exact cost."""
