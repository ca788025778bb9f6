import { readFile } from 'node:fs/promises'
import { type FloorRules, floored } from '../../core/crd/floors.ts'
import type { GatewayLookup } from '../../core/inject/governance.ts'
import type { InjectGateway } from '../../core/inject/options.ts'
import type { AdmissionComponent, AdmissionDeps } from '../cluster/cluster-operator.ts'
import type { CustomResource } from '../cluster/custom-resources.ts'
import { agentElsewhere } from '../cluster/shared-agents.ts'
import { createGuard } from '../guard/guard.ts'
import { createEventRecorder } from '../kube/events.ts'
import { openInjector, serviceHosts } from '../webhook/injector.ts'
import type { InjectionConfig } from './config.ts'
import { createTrustPublisher } from './control-plane-trust.ts'
import { openWatch } from './pod-watchdog.ts'

/** How soon another Gateway, or a changed one, shows in the policies and in the namespaces it admits. */
const UPKEEP_MS = 5_000

/** What only tests change. Milliseconds. */
export type InjectionTiming = { readonly upkeepMs?: number; readonly sweepMs?: number }

/**
 * Everything that admits pods, on every replica: the webhook, the admission policies that hold without it, what sidecars
 * need to find in their namespaces, and the watchdog. For `companions` of the operator's composition.
 */
export function admissionComponent(
  config: InjectionConfig,
  timing: InjectionTiming = {},
): (deps: AdmissionDeps) => Promise<AdmissionComponent> {
  return async (deps) => {
    const { client, log, caches, namespaces, instance } = deps
    const ownNamespace = deps.config.namespace
    const { floorRules } = deps.config
    const gateways = () => caches.Gateway.list().map((each) => injectGateway(each, floorRules))
    const recorder = createEventRecorder({ client, log, instance, fallbackNamespace: ownNamespace })
    const watch = openWatch({ client, log, recorder, namespaces, ownNamespace, config, ...timing })
    const upkeep = createUpkeep(config, deps, {
      ...{ gateways, upkeepMs: timing.upkeepMs ?? UPKEEP_MS },
    })
    const injector = await openInjector({
      ...{ client, log, recorder, ownNamespace, host: config.host, port: config.port },
      gateways: lookup(deps, gateways),
      namespaceLabels: namespaces.labelsOf,
      agentElsewhere: (asking) => agentElsewhere(deps.pods.list(), asking),
      settings: settingsOf(config, deps),
      floorRules,
      isReady: () => caches.Gateway.isSynced() && namespaces.isSynced(),
      onReview: (outcome, durationMs) => log.debug({ outcome, duration_ms: durationMs }, 'pod reviewed'),
      ...reachedBy(config, ownNamespace),
    })
    return {
      checks: [
        {
          name: 'injector',
          problem: () => (namespaces.isSynced() ? null : 'namespaces were not listed yet'),
        },
        { name: 'guard', problem: upkeep.problem },
      ],
      bypassing: watch.bypassing,
      gatewaysChanged: upkeep.soon,
      async [Symbol.asyncDispose]() {
        upkeep.stop()
        await watch.stop()
        await injector[Symbol.asyncDispose]()
      },
    }
  }
}

function lookup({ caches, config }: AdmissionDeps, gateways: () => readonly InjectGateway[]): GatewayLookup {
  return {
    gatewayOf(namespace, name) {
      const found = caches.Gateway.get(`${namespace}/${name}`)
      return found === undefined ? undefined : injectGateway(found, config.floorRules)
    },
    gatewaysIn: (namespace) => gateways().filter((each) => each.namespace === namespace),
  }
}

function injectGateway({ metadata, spec }: CustomResource<'Gateway'>, floorRules: FloorRules): InjectGateway {
  const { namespace = '', name } = metadata
  return { namespace, name, spec: floored(spec, namespace, floorRules).spec }
}

function settingsOf(injection: InjectionConfig, { config }: AdmissionDeps) {
  return {
    images: injection.images,
    controlPlane: {
      url: injection.controlPlaneUrl ?? config.controlPlaneUrl,
      hasOwnCertificateAuthority: config.controlPlaneCaFile !== null,
    },
    logLevel: injection.logLevel,
  }
}

function reachedBy({ address, service }: InjectionConfig, namespace: string) {
  if (address === null)
    return {
      hosts: serviceHosts(service.name, namespace),
      target: () => ({ service: { namespace, ...service } }),
    }
  const hosts: readonly [string] = [address]
  return { hosts, target: (port: number) => ({ url: `https://${address}:${port}` }) }
}

type UpkeepSources = {
  readonly gateways: () => readonly InjectGateway[]
  readonly upkeepMs: number
}

/** Writes what depends on the Gateways, soon after they change. */
function createUpkeep(
  injection: InjectionConfig,
  { client, config, log, caches, namespaces }: AdmissionDeps,
  { gateways, upkeepMs }: UpkeepSources,
) {
  const { images, serviceAccount } = injection
  const { namespace, controlPlaneCaFile } = config
  const guard = createGuard({
    client,
    images,
    installation: {
      ownNamespace: namespace,
      operatorUser: `system:serviceaccount:${namespace}:${serviceAccount}`,
      proxyCommand: images.proxyCommand,
      controlPlaneUrl: injection.controlPlaneUrl ?? config.controlPlaneUrl,
    },
    monotonicMs: () => performance.now(),
  })
  const publish = createTrustPublisher(client, () => performance.now())
  let problem: string | null = 'the admission policies were not written yet'
  let isRunning = false
  let isDue = false

  /** What pods wait for first, so that the first one of a namespace finds it there. */
  async function write(): Promise<void> {
    const supplied = { gateways: gateways(), namespaces: namespaces.list() }
    if (controlPlaneCaFile !== null) await publish(supplied, await readFile(controlPlaneCaFile, 'utf8'))
    await guard.reconcile(gateways())
  }

  async function pass(): Promise<void> {
    if (!caches.Gateway.isSynced() || !namespaces.isSynced()) return
    isDue = true
    if (isRunning) return
    isRunning = true
    try {
      while (isDue) {
        isDue = false
        await write()
      }
      problem = null
    } catch (error) {
      log.warn({ err: error }, 'admission policies not written')
    } finally {
      isRunning = false
    }
  }

  const timer = setInterval(() => void pass(), upkeepMs)
  void Promise.all([caches.Gateway.synced, namespaces.synced]).then(pass)
  return { problem: () => problem, soon: () => void pass(), stop: () => clearInterval(timer) }
}
