"""Resolution of schemas, layers and facts to typed, frozen arguments per method instance and backend."""
