import {
  CONTAINERS,
  GVISOR_RULE_SETTER,
  HEALTH_PATHS,
  POD_PORTS,
  PROXY_ENV,
  RULE_SETTER,
  RULE_SETTER_UID,
  RUNTIME_ENV,
  VOLUMES,
} from '../capture/pod-contract.ts'
import type { Interception } from './interception.ts'
import type { InjectGateway, InjectOptions } from './options.ts'
import type { Container, VolumeMount } from './pod.ts'

export type SidecarFacts = {
  readonly gateway: InjectGateway
  readonly interception: Interception
  readonly agent: string
  readonly proxyUid: number
  readonly options: InjectOptions
}

/** Maximum size of the journal: half of the size of its volume. */
const JOURNAL_MAX_BYTES = 32 * 1024 * 1024
const RULES_RESOURCES = {
  limits: { memory: '64Mi' },
  requests: { cpu: '10m', memory: '16Mi' },
}
const PROXY_RESOURCES = {
  limits: { memory: '384Mi' },
  requests: { cpu: '25m', memory: '96Mi' },
}
/**
 * Fields with the defaults of the API server. They are set explicitly so that a second injection of a stored pod
 * changes nothing.
 */
const DEFAULTS = { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' }

/**
 * Returns the injected containers in the order in which they must start, before any other container: first the
 * container that sets the capture rules, then the proxy as a native sidecar. With `proxyEnv` there are no capture
 * rules, and only the proxy is injected.
 */
export function sidecarContainers(facts: SidecarFacts): readonly Container[] {
  const isTransparent = facts.interception === 'transparent'
  return [...(isTransparent ? [ruleSetter(facts)] : []), proxy(facts)]
}

function ruleSetter({ proxyUid, options: { images, runtime } }: SidecarFacts): Container {
  const { command, uid, capabilities } = runtime === 'gvisor' ? gvisorSetter(proxyUid) : setter(proxyUid)
  return {
    name: CONTAINERS.rules,
    image: images.rules,
    imagePullPolicy: images.pullPolicy,
    command,
    resources: RULES_RESOURCES,
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { add: capabilities, drop: ['ALL'] },
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsGroup: uid,
      runAsNonRoot: uid !== 0,
      runAsUser: uid,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...DEFAULTS,
    // If the container cannot set the capture rules, `kubectl describe pod` and the operator show the end of its log as
    // the reason.
    terminationMessagePolicy: 'FallbackToLogsOnError',
  }
}

type Setter = { readonly command: string[]; readonly uid: number; readonly capabilities: string[] }

function setter(proxyUid: number): Setter {
  const { program, file, uidDefine } = RULE_SETTER
  const command = [program, '-D', `${uidDefine}=${proxyUid}`, '-f', file]
  return { command, uid: RULE_SETTER_UID, capabilities: ['NET_ADMIN'] }
}

function gvisorSetter(proxyUid: number): Setter {
  const { shell, file, uid, capabilities } = GVISOR_RULE_SETTER
  return { command: [shell, file, String(proxyUid)], uid, capabilities: [...capabilities] }
}

/**
 * Limits of the start-up probe of the proxy. If a node starts many pods, the start of a proxy takes minutes. The kubelet must
 * not abort the start, because a restart would repeat all its work and take CPU time from the other starts.
 */
export const STARTUP_PROBE = { periodSeconds: 1, failureThreshold: 600 } as const

function proxy(facts: SidecarFacts): Container {
  const { proxyUid, gateway, options } = facts
  const { images } = options
  return {
    name: CONTAINERS.proxy,
    image: images.proxy,
    imagePullPolicy: images.pullPolicy,
    ...(images.proxyCommand.length > 0 && { command: [...images.proxyCommand] }),
    restartPolicy: 'Always',
    env: environment(facts),
    ports: [{ containerPort: POD_PORTS.health, name: 'chaperone', protocol: 'TCP' }],
    startupProbe: probe(HEALTH_PATHS.started, STARTUP_PROBE),
    readinessProbe: probe(HEALTH_PATHS.ready, { periodSeconds: 5, failureThreshold: 2 }),
    // A restart ends all connections of the agent, and increases the load of a busy node. A proxy on a busy node
    // responds within 10 s at least once in a minute, as long as its event loop runs.
    livenessProbe: {
      ...probe(HEALTH_PATHS.live, { periodSeconds: 10, failureThreshold: 6 }),
      timeoutSeconds: 10,
    },
    resources: gateway.spec.sidecar?.resources ?? PROXY_RESOURCES,
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsGroup: proxyUid,
      runAsNonRoot: true,
      runAsUser: proxyUid,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    volumeMounts: [...proxyMounts(facts)],
    ...DEFAULTS,
  }
}

function environment({ gateway, interception, agent, options }: SidecarFacts): Container['env'] {
  const { token, admin, data, trust, controlPlane, extraTrust } = VOLUMES
  return [
    variable(PROXY_ENV.role, 'pod'),
    variable(PROXY_ENV.interception, interception),
    ...(interception === 'transparent' && options.runtime === 'gvisor'
      ? [variable(PROXY_ENV.ipv6Closed, 'true')]
      : []),
    variable(PROXY_ENV.gateway, `${gateway.namespace}/${gateway.name}`),
    variable(PROXY_ENV.agent, agent),
    field(PROXY_ENV.podName, 'metadata.name'),
    field(PROXY_ENV.podNamespace, 'metadata.namespace'),
    field(PROXY_ENV.podUid, 'metadata.uid'),
    field(PROXY_ENV.serviceAccount, 'spec.serviceAccountName'),
    variable(PROXY_ENV.tokenFile, `${token.path}/${token.file}`),
    variable(PROXY_ENV.controlPlaneUrl, options.controlPlane.url),
    ...(options.controlPlane.address == null
      ? []
      : [variable(PROXY_ENV.controlPlaneAddress, options.controlPlane.address)]),
    ...(options.controlPlane.hasOwnCertificateAuthority
      ? [variable(PROXY_ENV.controlPlaneCaFile, `${controlPlane.path}/${controlPlane.file}`)]
      : []),
    variable(PROXY_ENV.dnsResolvers, options.dns.resolvers.join(',')),
    variable(PROXY_ENV.clusterDomain, options.dns.clusterDomain),
    ...searchDomainVariable(options),
    ...(gateway.spec.agents?.startOnlyWithRules === true
      ? [variable(PROXY_ENV.startOnlyWithRules, 'true')]
      : []),
    variable(PROXY_ENV.adminSocket, `${admin.path}/${admin.file}`),
    variable(PROXY_ENV.trustDir, trust.path),
    ...(hasExtraTrust(gateway)
      ? [variable(PROXY_ENV.extraCaFile, `${extraTrust.path}/${extraTrust.file}`)]
      : []),
    variable('DATA_DIR', data.path),
    variable('JOURNAL_MAX_BYTES', String(JOURNAL_MAX_BYTES)),
    variable('LOG_LEVEL', options.logLevel),
    ...(options.resourceAttributes == null
      ? []
      : [variable(PROXY_ENV.resourceAttributes, options.resourceAttributes)]),
    ...Object.entries(RUNTIME_ENV).map(([name, value]) => variable(name, value)),
  ]
}

function searchDomainVariable({
  dns: { searchDomains = [] },
}: SidecarFacts['options']): NonNullable<Container['env']> {
  return searchDomains.length === 0 ? [] : [variable(PROXY_ENV.searchDomains, searchDomains.join(','))]
}

function proxyMounts({ gateway, options }: SidecarFacts): readonly VolumeMount[] {
  const { token, admin, data, trust, controlPlane, extraTrust } = VOLUMES
  return [
    { name: token.name, mountPath: token.path, readOnly: true },
    { name: admin.name, mountPath: admin.path },
    { name: data.name, mountPath: data.path },
    { name: trust.name, mountPath: trust.path },
    ...(options.controlPlane.hasOwnCertificateAuthority
      ? [{ name: controlPlane.name, mountPath: controlPlane.path, readOnly: true }]
      : []),
    ...(hasExtraTrust(gateway)
      ? [{ name: extraTrust.name, mountPath: extraTrust.path, readOnly: true }]
      : []),
  ]
}

function hasExtraTrust(gateway: InjectGateway): boolean {
  return gateway.spec.trust?.extraSecretRef !== undefined
}

function probe(
  path: string,
  { periodSeconds, failureThreshold }: { readonly periodSeconds: number; readonly failureThreshold: number },
) {
  return {
    httpGet: { path, port: POD_PORTS.health, scheme: 'HTTP' },
    periodSeconds,
    failureThreshold,
    successThreshold: 1,
    timeoutSeconds: 2,
  }
}

/** Returns an environment variable. Omits an empty value, because the API server drops it when it stores a pod. */
function variable(name: string, value: string) {
  return value === '' ? { name } : { name, value }
}

function field(name: string, fieldPath: string) {
  return { name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } }
}
