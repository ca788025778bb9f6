import { type GuardObject, guardObjects } from './policies.ts'

/**
 * Returns the names of the admission policies and bindings, in the order of deletion: each binding before its policy.
 * The names do not depend on the options.
 */
export function guardNames(): ReadonlyArray<{ readonly kind: GuardObject['kind']; readonly name: string }> {
  const objects = guardObjects({
    ownNamespace: '',
    operatorUser: '',
    controlPlaneUrl: '',
    dns: { resolvers: [], clusterDomain: '' },
    proxyCommand: [],
    proxyImages: [],
    ruleImages: [],
    cooperativeGateways: [],
    autoGateways: [],
    controlPlaneAddresses: [],
    searchDomains: [],
    gvisorRuntimeClasses: [],
    strictGateways: [],
    inboundDenied: [],
    seccompProfiles: [],
  })
  return objects.map(({ kind, metadata }) => ({ kind, name: metadata.name })).reverse()
}
