"""The chain behind the ledger: `port` is the seam, `fake` and `web3_chain` its two implementations, `devnode` the embedded node.

Imports without Django; only web3_chain, keys and deploy touch web3 or eth_*. Exports nothing, so that importing the port stays cheap.
"""
