"""The services in one process: the services' own engines, pools and queues, behind the ports of the gateway's flow.

No gRPC, no messages, no Envoy: what is left is what any program would have to do that answers the same way.
"""
