"""What stands under every link: sessions, sockets, and limits on what a peer may fill."""
