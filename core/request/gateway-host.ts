/**
 * Host at which the gateway itself answers agents. No Connector can own it, not even by a wildcard, and the gateway
 * never resolves it. In a captured network its DNS answers the name with an address that is redirected to the gateway.
 */
export const GATEWAY_HOST = 'chaperone.internal'
