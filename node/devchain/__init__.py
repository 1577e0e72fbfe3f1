"""Driving a chain that is made for tests: its block modes, its time, its earlier moments, and the blocks with which it starts."""
