"""The server: routes, access, responses, server-sent events, and the description of the API."""
