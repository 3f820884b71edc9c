"""What the gateway shows and asks for: its certificate, and which keys it can hold."""
