"""Kafka's wire protocol: message declarations, the codec compiled from them, framing and sans-IO connections."""
