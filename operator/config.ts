import { type FloorRules, readFloors } from '../core/crd/gateway/floors.ts'
import { ChaperoneError } from '../core/errors.ts'
import { isConfidential } from '../core/loopback.ts'
import { type PodApi, podApiOf } from '../kube/pod-access.ts'
import { type InjectionConfig, readInjectionConfig } from './inject/config.ts'

type Common = {
  /** `CONTROL_PLANE_URL`, without a trailing slash. */
  readonly controlPlaneUrl: string
  /** `OPERATOR_TOKEN_FILE`: read on every call, because a projected token is rotated. */
  readonly operatorTokenFile: string
  /**
   * `CONTROL_PLANE_CA_FILE`: PEM file with the certificate authority (CA) of the control plane; null to trust the
   * public CAs.
   */
  readonly controlPlaneCaFile: string | null
  /** `LOG_LEVEL`, default info. */
  readonly logLevel: string
}

/** Settings for one machine, where manifests are files in a folder. Selected by `MANIFESTS_DIR`. */
export type FolderConfig = Common & { readonly mode: 'folder'; readonly manifestsDir: string }

/** Settings for Kubernetes, where manifests are custom resources. Selected by the absence of `MANIFESTS_DIR`. */
export type ClusterConfig = Common & {
  readonly mode: 'cluster'
  /** `KUBECONFIG`; null when the operator uses the ServiceAccount of its pod. */
  readonly kubeconfig: string | null
  /** The API server of the cluster of this pod; null outside of a cluster. */
  readonly podApi: PodApi | null
  /**
   * `POD_NAMESPACE`: the namespace of the Lease, and of the `chaperone-emergency` ConfigMap whose kill switch applies
   * to the whole installation.
   */
  readonly namespace: string
  /** `POD_NAME`: the identity in the Lease and in Events, with a random suffix. */
  readonly podName: string
  /**
   * `CONTROL_PLANE_PEERS_HOST`: host of a headless Service of all control plane replicas; null without such a Service.
   */
  readonly peersHost: string | null
  /**
   * `CONTROL_PLANE_PEERS`: comma-separated URLs of the control plane replicas, for installations without a headless
   * Service.
   */
  readonly peers: readonly string[]
  /** `LEASE_NAME`, default `chaperone-operator`. */
  readonly leaseName: string
  /** `HEALTH_HOST` and `HEALTH_PORT` (default 0.0.0.0 and 8081): `/livez`, `/readyz`, `/metrics`. */
  readonly healthHost: string
  readonly healthPort: number
  /**
   * `GATEWAY_FLOORS` (JSON): the weakest settings that a Gateway may have. `PLATFORM_NAMESPACES`
   * (comma-separated): namespaces whose Gateways may have weaker settings.
   */
  readonly floorRules: FloorRules
}

export type OperatorConfig = FolderConfig | ClusterConfig

type Env = Readonly<Record<string, string | undefined>>

/** Reads the settings from the environment. Throws `validation` with the name of the variable. */
export function readConfig(env: Env): OperatorConfig {
  const manifestsDir = optional(env, 'MANIFESTS_DIR')
  const source = manifestsDir === null ? clusterConfig(env) : ({ mode: 'folder', manifestsDir } as const)
  const url = required(env, 'CONTROL_PLANE_URL', 'the address of the control plane')
  return {
    ...source,
    controlPlaneUrl: httpUrl(url, 'CONTROL_PLANE_URL'),
    operatorTokenFile: required(env, 'OPERATOR_TOKEN_FILE', 'the file that holds the operator token'),
    controlPlaneCaFile: optional(env, 'CONTROL_PLANE_CA_FILE'),
    logLevel: optional(env, 'LOG_LEVEL') ?? 'info',
  }
}

/**
 * Reads the settings of the injector. Returns null on one machine, and with `INJECTION=off`, when pods get their
 * sidecars by other means. Throws `validation` with the name of the variable.
 */
export function readInjection({ mode }: OperatorConfig, env: Env): InjectionConfig | null {
  return mode === 'folder' || optional(env, 'INJECTION') === 'off' ? null : readInjectionConfig(env)
}

function clusterConfig(env: Env): Omit<ClusterConfig, keyof Common> {
  const meaning = 'the namespace of the operator (or set MANIFESTS_DIR to watch a folder)'
  return {
    mode: 'cluster',
    kubeconfig: optional(env, 'KUBECONFIG'),
    podApi: podApiOf(env),
    namespace: required(env, 'POD_NAMESPACE', meaning),
    podName: optional(env, 'POD_NAME') ?? 'operator',
    peersHost: optional(env, 'CONTROL_PLANE_PEERS_HOST'),
    peers: listOf(optional(env, 'CONTROL_PLANE_PEERS')).map((url) => httpUrl(url, 'CONTROL_PLANE_PEERS')),
    leaseName: optional(env, 'LEASE_NAME') ?? 'chaperone-operator',
    healthHost: optional(env, 'HEALTH_HOST') ?? '0.0.0.0',
    healthPort: port(env, 'HEALTH_PORT', 8081),
    floorRules: {
      floors: readFloors(optional(env, 'GATEWAY_FLOORS')),
      platformNamespaces: new Set(listOf(optional(env, 'PLATFORM_NAMESPACES'))),
    },
  }
}

function required(env: Env, name: string, meaning: string): string {
  const value = optional(env, name)
  if (value !== null) return value
  throw new ChaperoneError('validation', { detail: `${name} is not set; give ${meaning}` })
}

function optional(env: Env, name: string): string | null {
  const value = env[name]?.trim()
  return value === undefined || value === '' ? null : value
}

/** Splits a comma-separated list. Returns an empty list for null. */
function listOf(value: string | null): readonly string[] {
  return (value ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}

function port(env: Env, name: string, otherwise: number): number {
  const value = optional(env, name)
  if (value === null) return otherwise
  if (/^\d+$/.test(value) && Number(value) <= 65_535) return Number(value)
  throw new ChaperoneError('validation', {
    detail: `${name} is ${JSON.stringify(value)}; set it to a port from 0 (any free port) to 65535`,
  })
}

function httpUrl(value: string, name: string): string {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new ChaperoneError('validation', {
      detail: `${name} is ${JSON.stringify(value)}; set it to an address such as http://127.0.0.1:3000`,
    })
  }
  if (isConfidential(value)) return value.replace(/\/+$/, '')
  throw new ChaperoneError('validation', {
    detail: `${name} is ${JSON.stringify(value)}; set it to an https address. Over http, tokens and Secrets would be sent in clear text; an http address is accepted only for this machine`,
  })
}
