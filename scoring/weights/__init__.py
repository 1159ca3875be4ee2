"""Where weights come from: folders and the Hub, adapters, quantised weights, a model's own code."""
