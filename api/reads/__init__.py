"""Reads of routes: lists, reports and graphs, made of rows and presented."""
