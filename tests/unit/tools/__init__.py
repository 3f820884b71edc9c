"""Tests of what prepares and measures."""
