"""Memory as tools, resources and a prompt of the Model Context Protocol, over HTTP and over stdio."""
