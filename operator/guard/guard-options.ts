import type { InjectGateway } from '../../core/inject/options.ts'
import type { GuardOptions } from './options.ts'

/** What the guard compares pods with, given the Gateways that there are; the same for the same ones in any order. */
export function guardOptions(
  installation: Omit<GuardOptions, 'cooperativeGateways' | 'strictGateways'>,
  gateways: readonly InjectGateway[],
): GuardOptions {
  const names = (isMeant: (spec: InjectGateway['spec']) => boolean) =>
    gateways
      .filter(({ spec }) => isMeant(spec))
      .map(({ namespace, name }) => `${namespace}/${name}`)
      .sort()
  return {
    ...installation,
    cooperativeGateways: names(({ interception }) => interception === 'proxyEnv'),
    strictGateways: names(({ hardening }) => hardening === 'strict'),
  }
}
