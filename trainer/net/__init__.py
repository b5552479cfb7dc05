"""Getting bytes from peer to peer: transports behind one seam, the handshake, pieces. Knows nothing of rounds."""
