"""What both ends agree on: messages, the wire codec, the machine interface, shared formulas."""
