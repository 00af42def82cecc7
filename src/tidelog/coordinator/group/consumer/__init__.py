"""Consumer groups of KIP-848: the coordinator assigns, each member reconciles at its own pace by heartbeats."""
