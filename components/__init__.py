"""Effects: everything that touches Pulumi, machines, hosts or the network."""
