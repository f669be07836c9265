"""The version of engine, client and command line, and the oldest engine the clients speak to."""

VERSION = "3.0.0"
MIN_ENGINE_VERSION = "3.0.0"
