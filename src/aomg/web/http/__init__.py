"""The HTTP server: routes, access control, responses, server-sent events and the OpenAPI description."""
