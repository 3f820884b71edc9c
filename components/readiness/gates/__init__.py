"""Gates: what must be seen of hosts and fabric before a rank starts. Pure, but for `observe` and `kind`."""
