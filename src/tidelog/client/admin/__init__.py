"""What an operator asks of a cluster, a module for each subject; `admin_client` puts them together."""
