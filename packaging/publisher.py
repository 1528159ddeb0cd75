"""The names that a publisher has to own: one place to change them."""

HOMEPAGE = "https://tabwire.dev"

REPOSITORY = "https://github.com/tabwire/tabwire"

# In the registry of MCP servers, whose names are domains read backwards.
MCP_NAME = "dev.tabwire/tabwire"

MAINTAINER = "Tabwire <packages@tabwire.dev>"

# In the registries of package managers: the publisher, and the package below it.
PUBLISHER = "Tabwire"

WINGET_NAME = "Tabwire.Tabwire"
