"""Environments and spaces of other libraries and of older versions of the API."""
