package fairshare
