"""The folder of the imported competition is added to this package's path."""
