"""What noisy values say: measurements that were made, answers to queries with their intervals."""
