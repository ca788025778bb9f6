import { readFile } from 'node:fs/promises'
import type { InjectGateway, InjectOptions } from '../../core/inject/options.ts'
import type { AdmissionDeps } from '../cluster/admission.ts'
import { createGuard } from '../guard/guard.ts'
import type { NetworkPolicies } from '../network/network-policies.ts'
import type { InjectionConfig } from './config.ts'
import type { ControlPlaneAddress } from './control-plane-address.ts'
import { createTrustPublisher } from './control-plane-trust.ts'
import type { RuntimeClasses } from './runtime-classes.ts'

export type MaintenanceOptions = {
  readonly dns: InjectOptions['dns']
  readonly gateways: () => readonly InjectGateway[]
  readonly address: ControlPlaneAddress
  readonly networkPolicies: Pick<NetworkPolicies, 'reconcile'>
  readonly runtimes: RuntimeClasses
  readonly maintenanceMs: number
}

/**
 * Writes the admission policies, the trust bundles and the NetworkPolicies after Gateways or RuntimeClasses changed,
 * and periodically.
 */
export function createMaintenance(
  injection: InjectionConfig,
  { client, config, log, caches, namespaces, isLeader }: AdmissionDeps,
  { dns, gateways, address, networkPolicies, runtimes, maintenanceMs }: MaintenanceOptions,
) {
  const { images } = injection
  const { namespace, controlPlaneCaFile } = config
  const guard = createGuard({
    client,
    images,
    controlPlaneAddress: address.current,
    installation: {
      ownNamespace: namespace,
      operatorUser: operatorUser(injection, namespace),
      proxyCommand: images.proxyCommand,
      controlPlaneUrl: injection.controlPlaneUrl ?? config.controlPlaneUrl,
      dns,
      isolatesProxyEnv: injection.proxyEnvUpstreams !== null,
    },
    monotonicMs: () => performance.now(),
  })
  const trust = createTrustPublisher(client, () => performance.now())
  let problem: string | null = 'the admission policies are not applied yet'
  let running: Promise<void> | null = null
  let isDue = false

  /** Writes the trust bundles, then the admission policies: pods cannot start without the trust bundle. */
  async function write(): Promise<void> {
    const supplied = { gateways: gateways(), namespaces: namespaces.list() }
    if (controlPlaneCaFile !== null) await trust.publish(supplied, await readFile(controlPlaneCaFile, 'utf8'))
    await guard.reconcile({ gateways: gateways(), gvisorRuntimeClasses: runtimes.gvisor() })
    if (isLeader()) await networkPolicies.reconcile()
  }

  async function writeAll(): Promise<void> {
    try {
      while (isDue) {
        isDue = false
        await write()
      }
      problem = null
    } catch (error) {
      log.warn({ err: error }, 'admission policies could not be applied')
      throw error
    } finally {
      running = null
    }
  }

  /** Applies the latest state. Rejects when `write` fails or the caches are not filled yet. */
  async function pass(): Promise<void> {
    if (!caches.Gateway.isSynced() || !namespaces.isSynced() || !runtimes.isSynced())
      throw new Error('the caches of the operator are not filled yet')
    isDue = true
    running ??= writeAll()
    await running
  }
  const soon = () => void pass().catch(ignore)

  const timer = setInterval(soon, maintenanceMs)
  void Promise.all([caches.Gateway.synced, namespaces.synced, runtimes.synced]).then(soon)
  return {
    problem: () => problem,
    acceptedAddress: guard.acceptedAddress,
    acceptedSearchDomains: guard.acceptedSearchDomains,
    soon,
    restorers: {
      trust: trust.restore,
      async policy(): Promise<void> {
        guard.invalidate()
        await pass()
      },
    },
    stop: () => clearInterval(timer),
  }
}

/** Ignores a failed pass: `writeAll` has logged it, or the caches are not filled yet. The timer repeats the pass. */
function ignore(): void {}

/** Returns the user name of the ServiceAccount of the operator. */
export function operatorUser({ serviceAccount }: InjectionConfig, namespace: string): string {
  return `system:serviceaccount:${namespace}:${serviceAccount}`
}
