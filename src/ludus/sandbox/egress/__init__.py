"""Egress by allow-list: a proxy on the host that lets a sandbox reach named hosts only."""
