import { type FloorRules, floored } from '../../core/crd/gateway/floors.ts'
import type { GatewayLookup } from '../../core/inject/governance.ts'
import type { Isolation } from '../../core/inject/interception.ts'
import type { InjectGateway, InjectOptions } from '../../core/inject/options.ts'
import type { AdmissionComponent, AdmissionDeps } from '../cluster/admission.ts'
import type { CustomResource } from '../cluster/custom-resources.ts'
import type { Guard } from '../guard/guard.ts'
import type { ReadinessCheck } from '../health-server.ts'
import { createEventRecorder } from '../kube/events.ts'
import { keyOf } from '../kube/objects.ts'
import { egressCause } from '../network/egress-cause.ts'
import { inboundPolicy } from '../network/inbound-policy.ts'
import { type NetworkPolicies, type PolicyChange, startNetworkPolicies } from '../network/network-policies.ts'
import { PROXY_ENV_POLICY, proxyEnvPolicy } from '../network/proxy-env-policy.ts'
import { sandboxPolicy } from '../network/sandbox-policy.ts'
import { type Injector, type InjectorDeps, openInjector, serviceHosts } from '../webhook/injector.ts'
import type { InjectionConfig } from './config.ts'
import { resolveControlPlane } from './control-plane-address.ts'
import { governedNamespaces } from './control-plane-trust.ts'
import { startGuardRestoration } from './guard-restoration.ts'
import { installedDns } from './installed-dns.ts'
import { createMaintenance, operatorUser } from './maintenance.ts'
import { startPodWatchdog, UNCOUNTED } from './pod-watchdog.ts'
import { startRuntimeClasses } from './runtime-classes.ts'

/**
 * Interval in milliseconds at which the admission policies, trust bundles and NetworkPolicies are reconciled.
 * Changes of Gateways cause a reconcile at once.
 */
const MAINTENANCE_MS = 5_000

/** Intervals that tests shorten, in milliseconds. */
export type InjectionTiming = { readonly maintenanceMs?: number; readonly sweepMs?: number }

/**
 * Composes the admission of pods, which runs on every replica: the webhook, the admission policies, which apply even
 * without the webhook, the trust bundle of sidecars in their namespaces, and the watchdog.
 */
export function admissionComponent(
  config: InjectionConfig,
  timing: InjectionTiming = {},
): (deps: AdmissionDeps) => Promise<AdmissionComponent> {
  return async (deps) => {
    const dns = await installedDns(config.dns)
    const address = resolveControlPlane(config.controlPlaneUrl ?? deps.config.controlPlaneUrl)
    const { client, log, caches, namespaces, instance } = deps
    const { namespace: ownNamespace, floorRules } = deps.config
    const gateways = () => caches.Gateway.list().map((each) => injectGateway(each, floorRules))
    const recorder = createEventRecorder({ client, log, instance })
    const watchdog = startPodWatchdog({
      client,
      log,
      recorder,
      namespaces,
      ownNamespace,
      config,
      sandboxes: deps.sandboxes,
      ...timing,
      onChange: deps.onBypassing,
    })
    const onChange = () => maintenance.soon()
    const runtimes = startRuntimeClasses({ client, log, metrics: UNCOUNTED, onChange })
    const networkPolicies = openNetworkPolicies(config, deps, { dns, gateways, onChange })
    const isolationOf = isolation(config, networkPolicies)
    const maintenance = createMaintenance(config, deps, {
      dns,
      gateways,
      address,
      networkPolicies,
      runtimes,
      maintenanceMs: timing.maintenanceMs ?? MAINTENANCE_MS,
    })
    const injector = await openWebhook(config, deps, {
      recorder,
      gateways: lookup(deps, gateways),
      runtimes,
      isolationOf,
      settings: settingsOf(config, deps, { dns, accepted: maintenance }),
    })
    const restoration = startGuardRestoration({
      client,
      log,
      recorder,
      restorers: { ...maintenance.restorers, webhook: injector.restore },
    })
    return {
      checks: readinessChecks(deps, maintenance),
      bypassing: watchdog.bypassing,
      isIsolated: (namespace) => isolationOf(namespace) === 'stored',
      egressCause: (pod, signal) =>
        egressCause(
          { client, namespaces, ownNamespace, dns: { ...dns, pods: config.dns.pods } },
          pod,
          signal,
        ),
      certificates: injector.certificates,
      gatewaysChanged: maintenance.soon,
      templatesChanged: maintenance.soon,
      async [Symbol.asyncDispose]() {
        address.stop()
        maintenance.stop()
        await restoration.stop()
        // The webhook stops before the components below, because its last reviews read their caches.
        await injector[Symbol.asyncDispose]()
        await networkPolicies.stop()
        await watchdog.stop()
        await runtimes.stop()
      },
    }
  }
}

function readinessChecks(
  { namespaces }: AdmissionDeps,
  { problem }: Pick<ReadinessCheck, 'problem'>,
): readonly ReadinessCheck[] {
  return [
    {
      name: 'injector',
      problem: () => (namespaces.isSynced() ? null : 'the namespace cache is not filled yet'),
    },
    { name: 'guard', problem },
  ]
}

type NetworkOptions = {
  readonly dns: InjectOptions['dns']
  readonly gateways: () => readonly InjectGateway[]
  readonly onChange: () => void
}

function openNetworkPolicies(
  config: InjectionConfig,
  deps: AdmissionDeps,
  { dns, gateways, onChange }: NetworkOptions,
): NetworkPolicies {
  const { client, log, namespaces, sandboxes, pods, podIndex } = deps
  const { namespace } = deps.config
  const governed = (by: readonly InjectGateway[]) => governedNamespaces(by, namespaces.list())
  const changed = (change: PolicyChange) => {
    if (change.name === PROXY_ENV_POLICY) deps.onIsolation(isolatedGateways(deps, change.namespace))
    onChange()
  }
  return startNetworkPolicies({ client, log, onChange: changed }, [
    sandboxPolicy({
      ownNamespace: namespace,
      dns: { ...dns, pods: config.dns.pods },
      governed: () => governed(gateways()),
      withTemplates: sandboxes.templateNamespaces,
    }),
    inboundPolicy(() => governed(gateways().filter(({ spec }) => spec.inbound === 'deny'))),
    proxyEnvPolicy({
      ownNamespace: namespace,
      dns: { ...dns, pods: config.dns.pods },
      upstreams: config.proxyEnvUpstreams,
      proxied() {
        if (!pods.isSynced()) return null
        const by = gateways().filter(({ spec }) => spec.interception !== 'transparent')
        return new Set([...governed(by), ...podIndex.proxiedNamespaces()])
      },
    }),
  ])
}

function isolatedGateways({ caches, podIndex }: AdmissionDeps, namespace: string): ReadonlySet<string> {
  const all = caches.Gateway.list().map(keyOf)
  return new Set(all.filter((gateway) => podIndex.factsOf(gateway).isolatedIn.includes(namespace)))
}

/** Opens the webhook, which admits no pods before the caches of Gateways and namespaces are filled. */
function openWebhook(
  config: InjectionConfig,
  deps: AdmissionDeps,
  governing: Pick<InjectorDeps, 'recorder' | 'gateways' | 'runtimes' | 'isolationOf' | 'settings'>,
): Promise<Injector> {
  const { client, log, caches, namespaces } = deps
  const { namespace: ownNamespace, floorRules } = deps.config
  return openInjector({
    ...governing,
    client,
    log,
    ownNamespace,
    host: config.host,
    port: config.port,
    namespaceLabels: namespaces.labelsOf,
    agentElsewhere: deps.podIndex.agentElsewhere,
    sandboxes: deps.sandboxes,
    floorRules,
    operatorUser: operatorUser(config, ownNamespace),
    isReady: () => caches.Gateway.isSynced() && namespaces.isSynced(),
    onReview(review, durationMs) {
      deps.onReview(review, durationMs)
      log.debug({ ...review, duration_ms: durationMs }, 'object reviewed')
    },
    certificateSecret: config.certificateSecret,
    ...endpointOf(config, ownNamespace),
  })
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

function isolation(
  { proxyEnvUpstreams }: InjectionConfig,
  { isStored }: Pick<NetworkPolicies, 'isStored'>,
): (namespace: string) => Isolation {
  if (proxyEnvUpstreams === null) return () => 'off'
  return (namespace) => (isStored(PROXY_ENV_POLICY, namespace) ? 'stored' : 'pending')
}

function settingsOf(
  injection: InjectionConfig,
  { config }: AdmissionDeps,
  {
    dns,
    accepted,
  }: {
    readonly dns: InjectOptions['dns']
    readonly accepted: Pick<Guard, 'acceptedAddress' | 'acceptedSearchDomains'>
  },
) {
  return {
    images: injection.images,
    get dns() {
      return { ...dns, searchDomains: accepted.acceptedSearchDomains() }
    },
    get controlPlane() {
      return {
        url: injection.controlPlaneUrl ?? config.controlPlaneUrl,
        hasOwnCertificateAuthority: config.controlPlaneCaFile !== null,
        address: accepted.acceptedAddress(),
      }
    },
    logLevel: injection.logLevel,
    resourceAttributes: injection.resourceAttributes,
  }
}

function endpointOf({ address, service }: InjectionConfig, namespace: string) {
  if (address === null)
    return {
      hosts: serviceHosts(service.name, namespace),
      target: () => ({ service: { namespace, ...service } }),
    }
  const hosts: readonly [string] = [address]
  return { hosts, target: (port: number) => ({ url: `https://${address}:${port}` }) }
}
