"""The installation: the plugins, facts, profiles and executors that are found here."""
