"""The installed package: a wheel holds app, api, connectors, pipeline and schemas inside it."""
