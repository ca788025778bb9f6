/**
 * Host at which the gateway itself answers requests of agents. No Connector can own this host, not even by a wildcard,
 * and the gateway never resolves it. In a captured network, the gateway's DNS listener answers the name with an address
 * whose connections are redirected to the gateway.
 */
export const GATEWAY_HOST = 'chaperone.internal'
