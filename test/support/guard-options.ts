import type { GuardOptions } from '../../operator/guard/guard-options.ts'
import { INJECT_OPTIONS } from './golden-pods.ts'

/** Options of the admission guard, for the same installation as `INJECT_OPTIONS`. */
export const GUARD_OPTIONS: GuardOptions = {
  ownNamespace: 'chaperone-system',
  operatorUser: 'system:serviceaccount:chaperone-system:chaperone-operator',
  proxyImages: [INJECT_OPTIONS.images.proxy],
  ruleImages: [INJECT_OPTIONS.images.rules],
  proxyCommand: INJECT_OPTIONS.images.proxyCommand,
  controlPlaneUrl: INJECT_OPTIONS.controlPlane.url,
  dns: INJECT_OPTIONS.dns,
  cooperativeGateways: [],
  autoGateways: [],
  controlPlaneAddresses: [],
  searchDomains: [],
  gvisorRuntimeClasses: [],
  strictGateways: [],
  inboundDenied: [],
  seccompProfiles: [],
}
