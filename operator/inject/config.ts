import { isIP } from 'node:net'
import { SEARCH_DOMAIN } from '../../core/capture/search-names.ts'
import { ChaperoneError } from '../../core/errors.ts'
import { DEFAULT_PROXY_COMMAND, type SidecarImages } from '../../core/inject/options.ts'
import { splitAuthority, withoutBrackets } from '../../core/request/authority-text.ts'
import { Upstreams } from '../network/proxy-env-policy.ts'
import type { LabelledPods } from '../network/sandbox-policy.ts'

export type InjectionConfig = {
  /**
   * Settings from `SIDECAR_IMAGE`, `RULES_IMAGE` (default: the image of `SIDECAR_IMAGE`), `SIDECAR_COMMAND` (words
   * separated by blanks), `SIDECAR_PULL_POLICY` and `SIDECAR_PULL_SECRETS` (names separated by commas).
   */
  readonly images: SidecarImages
  /** `SIDECAR_CONTROL_PLANE_URL`: control plane URL for sidecars; null when sidecars use the URL of the operator. */
  readonly controlPlaneUrl: string | null
  /**
   * `SIDECAR_DNS_RESOLVERS` and `SIDECAR_SEARCH_DOMAINS`, separated by commas, and `SIDECAR_CLUSTER_DOMAIN`. Without
   * these settings (empty lists and null), sidecars use the DNS of the operator's own `/etc/resolv.conf`.
   */
  readonly dns: {
    readonly resolvers: readonly string[]
    readonly clusterDomain: string | null
    readonly searchDomains: readonly string[]
    /**
     * `SIDECAR_DNS_PODS`: pods behind the DNS servers, `NAMESPACE/KEY=VALUE,…`; default `kube-system/k8s-app=kube-dns`.
     */
    readonly pods: LabelledPods
  }
  /**
   * `PROXY_ENV_UPSTREAMS` (JSON): addresses that pods with `interception: proxyEnv` may reach; null when no
   * NetworkPolicy isolates these pods.
   */
  readonly proxyEnvUpstreams: Upstreams | null
  /** `SIDECAR_LOG_LEVEL`, default info. */
  readonly logLevel: string
  /** `OTEL_RESOURCE_ATTRIBUTES` of the operator, which sidecars get too; null when there are none. */
  readonly resourceAttributes: string | null
  /** `WEBHOOK_HOST` and `WEBHOOK_PORT`, default 0.0.0.0 and 8443; 0: any free port. */
  readonly host: string
  readonly port: number
  /** `WEBHOOK_SERVICE`, default `chaperone-webhook`, and `WEBHOOK_SERVICE_PORT`, default 443. */
  readonly service: { readonly name: string; readonly port: number }
  /**
   * `WEBHOOK_ADDRESS`: host at which the API server calls the webhook without a Service; null when it calls the
   * Service.
   */
  readonly address: string | null
  /**
   * `WEBHOOK_CERTIFICATE_SECRET`: Secret with the certificate of the webhook; null when the operator issues the
   * certificate.
   */
  readonly certificateSecret: string | null
  /** `OPERATOR_SERVICE_ACCOUNT`, default `chaperone-operator`. */
  readonly serviceAccount: string
  /** `EVICT_UNGOVERNED=true`: pods that can bypass their gateway are evicted, not only reported. */
  readonly evicts: boolean
}

type Env = Readonly<Record<string, string | undefined>>
const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'] as const

/** Reads the settings of the injector from the environment. Throws `validation` with the name of the variable. */
export function readInjectionConfig(env: Env): InjectionConfig {
  const image = text(env, 'SIDECAR_IMAGE')
  if (image === null) throw invalid('SIDECAR_IMAGE is not set; give the image of the sidecar')
  return {
    images: {
      proxy: image,
      proxyCommand: text(env, 'SIDECAR_COMMAND')?.split(/\s+/) ?? DEFAULT_PROXY_COMMAND,
      rules: text(env, 'RULES_IMAGE') ?? image,
      pullSecrets: pullSecrets(text(env, 'SIDECAR_PULL_SECRETS')),
      pullPolicy: pullPolicy(text(env, 'SIDECAR_PULL_POLICY') ?? 'IfNotPresent'),
    },
    controlPlaneUrl: text(env, 'SIDECAR_CONTROL_PLANE_URL'),
    dns: {
      resolvers: resolvers(env),
      clusterDomain: text(env, 'SIDECAR_CLUSTER_DOMAIN'),
      searchDomains: searchDomains(env),
      pods: labelledPods(text(env, 'SIDECAR_DNS_PODS') ?? 'kube-system/k8s-app=kube-dns'),
    },
    proxyEnvUpstreams: upstreams(text(env, 'PROXY_ENV_UPSTREAMS')),
    logLevel: text(env, 'SIDECAR_LOG_LEVEL') ?? 'info',
    resourceAttributes: text(env, 'OTEL_RESOURCE_ATTRIBUTES'),
    host: text(env, 'WEBHOOK_HOST') ?? '0.0.0.0',
    port: port(env, 'WEBHOOK_PORT', 8443),
    service: {
      name: text(env, 'WEBHOOK_SERVICE') ?? 'chaperone-webhook',
      port: port(env, 'WEBHOOK_SERVICE_PORT', 443),
    },
    address: text(env, 'WEBHOOK_ADDRESS'),
    certificateSecret: text(env, 'WEBHOOK_CERTIFICATE_SECRET'),
    serviceAccount: text(env, 'OPERATOR_SERVICE_ACCOUNT') ?? 'chaperone-operator',
    evicts: text(env, 'EVICT_UNGOVERNED') === 'true',
  }
}

function searchDomains(env: Env): readonly string[] {
  const given = (text(env, 'SIDECAR_SEARCH_DOMAINS') ?? '').toLowerCase().split(',')
  const domains = given.map((each) => each.trim().replace(/\.$/, '')).filter((each) => each !== '')
  const bad = domains.find((each) => !SEARCH_DOMAIN.test(each))
  if (bad === undefined) return domains
  throw invalid(
    `SIDECAR_SEARCH_DOMAINS has ${JSON.stringify(bad)}; give the search domains of the nodes, separated by commas, such as ec2.internal`,
  )
}

function text(env: Env, name: string): string | null {
  const value = env[name]?.trim()
  return value === undefined || value === '' ? null : value
}

function resolvers(env: Env): readonly string[] {
  const servers = (text(env, 'SIDECAR_DNS_RESOLVERS') ?? '').split(',').map((each) => each.trim())
  const given = servers.filter((server) => server !== '')
  const bad = given.find((server) => !isDnsServer(server))
  if (bad === undefined) return given
  throw invalid(
    `SIDECAR_DNS_RESOLVERS has ${JSON.stringify(bad)}; give IP addresses of DNS servers, separated by commas, such as 10.96.0.10 or [fd00::10]:5353`,
  )
}

function labelledPods(value: string): LabelledPods {
  const [, namespace, labels] = /^([a-z0-9-]+)\/(.+)$/.exec(value) ?? []
  const pairs = (labels ?? '').split(',').map((pair) => pair.split('='))
  if (namespace !== undefined && pairs.every(({ length }) => length === 2))
    return { namespace, labels: Object.fromEntries(pairs) }
  throw invalid(
    `SIDECAR_DNS_PODS is ${JSON.stringify(value)}; give the namespace and the labels of the pods of the DNS servers, such as kube-system/k8s-app=kube-dns`,
  )
}

function upstreams(value: string | null): Upstreams | null {
  if (value === null) return null
  const parsed = Upstreams.safeParse(jsonOf(value))
  if (parsed.success) return parsed.data
  throw invalid(
    'PROXY_ENV_UPSTREAMS is not a list of {cidr, except, ports}; set networkPolicy.proxyEnv.upstreams of the chart',
  )
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isDnsServer(server: string): boolean {
  return isIP(withoutBrackets(splitAuthority(server).host)) !== 0
}

function port(env: Env, name: string, otherwise: number): number {
  const value = text(env, name)
  if (value === null) return otherwise
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value)
  throw invalid(`${name} is ${JSON.stringify(value)}; set it to a port from 0 (any free port) to 65535`)
}

function pullPolicy(value: string): SidecarImages['pullPolicy'] {
  const known = PULL_POLICIES.find((each) => each === value)
  if (known !== undefined) return known
  throw invalid(`SIDECAR_PULL_POLICY is ${JSON.stringify(value)}; give ${PULL_POLICIES.join(', ')}`)
}

function pullSecrets(value: string | null): readonly string[] {
  const names = value?.split(',').map((name) => name.trim()) ?? []
  const wrong = names.find((name) => !/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name))
  if (wrong === undefined) return names
  throw invalid(
    `SIDECAR_PULL_SECRETS contains ${JSON.stringify(wrong)}; give names of Secrets, separated by commas`,
  )
}

function invalid(detail: string): ChaperoneError {
  return new ChaperoneError('validation', { detail })
}
