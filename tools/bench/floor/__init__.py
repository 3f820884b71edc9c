"""The Pulumi project that everything is compared with."""
