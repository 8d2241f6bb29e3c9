"""What can be put under test, each behind the one protocol of `oracle.target`."""
